/** One transaction on one connection: what it sees, what its work sends, and what is told once it has committed. */
import type { Kysely, Transaction } from 'kysely'
import pg from 'pg'
import { canThrow } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { CHANNEL, type Changes } from './changes.ts'
import { APP_ROLE, PLATFORM_ROLE } from './connection.ts'
import type { Database } from './database.ts'
import { isAborted } from './failures.ts'
import { ask, prepared, queriesOn, type Send, type Statement } from './statements.ts'
import type { Topic } from './topics.ts'
import type { Totals } from './totals.ts'

declare const scoped: unique symbol

/** What a statement that was sent will answer; not a promise itself, for which the work would wait. */
export interface Sent<R> {
  rows: Promise<R[]>
}

/** What a query has to know of the scope that it is for. */
export interface Scoped {
  readonly db: Kysely<Database>
  /** The tenant that is seen; null when all are. */
  readonly tenantId: number | null
}

/** An open transaction with its scope. Only the functions of `Scopes` make one. */
export interface TenantTx extends Scoped {
  /** Kysely on this transaction. */
  readonly db: Transaction<Database>
  /** The start of the transaction on the monotonic clock. It sees everything that was committed earlier. */
  readonly begunAt: number
  /**
   * Sends a statement whose answer nobody needs, without waiting for it: the commit goes out right
   * behind it, and fails where it does.
   */
  send(query: Statement): void
  /**
   * As `send`, of a statement whose rows are waited for later: behind the commit, where it is the last.
   * Has every node look for work of the topics where there is a row, as `notify` does.
   */
  sendFor<R>(query: Statement, ...topics: Topic[]): Sent<R>
  /**
   * Sends the commit, for what asks no more and waits for answers alone: with what was sent in the same turn
   * it is one message to the server.
   */
  end(): void
  /** Whether the work runs again: what it relied on the first time may be what failed. */
  readonly isAgain: boolean
  /** Has every node drop what it has cached of the topics, with the commit (see `changes.ts`). */
  invalidate(...topics: Topic[]): void
  /**
   * Has every node look for work of the topics, after the commit. Unlike `invalidate` it costs the
   * commit nothing, and may be lost: for those who look by themselves as well.
   */
  notify(...topics: Topic[]): void
  /** The totals of lists that this node remembers. */
  readonly totals: Totals
  /** Runs once the transaction has committed; what it throws is logged, and undoes nothing. */
  afterCommit(work: () => void): void
  readonly [scoped]: true
}

/**
 * A page of a list, read in one snapshot and within 3 s a statement. A `list` is planned once for all
 * values; a `filtered list` for its own, as they decide which index is best.
 */
export type ListMode = 'list' | 'filtered list'

/** All but `write` transactions cannot write, and their commit is not waited for. */
export type Mode = 'write' | 'read' | ListMode

/** What a transaction sees: a tenant, all of them, or each that it enters while it is in there. */
export type Opened = number | null | 'each'

export interface OpenTx extends TenantTx {
  /** From here on it sees this tenant. Only of a transaction that was opened for `each`. */
  enter(tenantId: number): void
}

/** The handle of a transaction, and what its work leaves for the commit and for after it. */
export function transactionOn(
  client: pg.PoolClient,
  tenantId: Opened,
  {
    mode,
    totals,
    isAgain,
    begunAt,
  }: { mode: Mode; totals: Totals; isAgain: boolean; begunAt: number },
) {
  const topics = new Set<Topic>()
  const notified = new Set<Topic>()
  const followUps: (() => void)[] = []
  const sent: Promise<unknown>[] = []
  let committing: ReturnType<typeof ask> | undefined
  let isAbandoned = false
  const commit = () => {
    if (!committing) {
      committing = ask(client, closing(topics))
      // Heard by whoever waits for it, or nobody does.
      committing.catch(() => undefined)
    }
    return committing
  }
  // What is planned for its values each time gains nothing by a name, of which there are few.
  const scope = mode === 'filtered list' ? null : tenantId === null ? 'p' : 't'
  const run: Send = ({ sql: text, parameters, waitMs }) => {
    // Behind the end it would run in no scope, or in that of whoever has the connection next.
    if (committing || isAbandoned) throw new Error('the transaction has ended')
    const query = prepared(scope, text, parameters)
    const patience = waitMs === undefined ? {} : { query_timeout: waitMs }
    return ask(client, { ...query, ...patience })
  }
  const notify = (...work: Topic[]) => work.forEach((topic) => void notified.add(topic))
  // Not by Kysely's own execution, which waits before it sends: the commit would overtake it.
  const sendFor = (query: Statement, ...work: Topic[]) => {
    const rows = run(query).then((answer) => {
      if (answer.rows.length > 0) notify(...work)
      return answer.rows
    })
    // Its failure is heard with the commit's, or by what fails after it.
    rows.catch(() => undefined)
    sent.push(rows)
    return { rows }
  }
  const tx = {
    db: queriesOn(run),
    tenantId,
    begunAt,
    totals,
    send: (query: Statement) => void sendFor(query),
    sendFor,
    end: () => void commit(),
    isAgain,
    invalidate: (...stale: Topic[]) => stale.forEach((topic) => void topics.add(topic)),
    notify,
    afterCommit: (work: () => void) => void followUps.push(work),
    // What fails of it fails what comes behind.
    enter: (each: number) => void ask(client, entering(each)).catch(() => undefined),
  } as unknown as OpenTx
  return {
    tx,
    sent,
    commit,
    /** What of the work goes on all the same asks nothing any more. */
    abandon() {
      isAbandoned = true
    },
    /** Tells of the commit. */
    committed(changes: Changes, log: Logger) {
      changes.invalidate(topics)
      for (const topic of notified) changes.notify(topic)
      for (const followUp of followUps) canThrow(followUp, 'what follows a commit', log)
    },
  }
}

/** Why a transaction failed: the statement that was sent and failed, not the next one's echo of it. */
export async function firstFailure(failure: unknown, sent: Promise<unknown>[]): Promise<unknown> {
  if (!isAborted(failure)) return failure
  const outcomes = await Promise.allSettled(sent)
  return outcomes.find((outcome) => outcome.status === 'rejected')?.reason ?? failure
}

const LIST = "begin isolation level repeatable read read only; set local statement_timeout = '3s'"
const BEGIN: Record<Mode, string> = {
  write: 'begin',
  read: 'begin read only',
  list: `${LIST}; set local plan_cache_mode = force_generic_plan`,
  'filtered list': `${LIST}; set local plan_cache_mode = force_custom_plan`,
}

/** Of a transaction that holds others up who have nothing to do with what it waits for, or is busy with. */
const SHORT_WAIT = "set local lock_timeout = '100ms'; set local statement_timeout = '1s'"

export function opening(tenantId: Opened, mode: Mode): string {
  const begin = BEGIN[mode]
  if (tenantId === null) return `${begin}; set local role ${PLATFORM_ROLE}`
  // The connection has this role from the start; said again, nothing in its address can undo it.
  const asApp = `${begin}; set local role ${APP_ROLE}`
  return `${asApp}; ${tenantId === 'each' ? SHORT_WAIT : entering(tenantId)}`
}

function entering(tenantId: number): string {
  if (!Number.isSafeInteger(tenantId)) throw new TypeError('a tenant id is an integer')
  return `set local wardkeep.tenant_id = '${tenantId}'`
}

/** The topics, which have no spaces, in pieces below the 8,000 bytes that PostgreSQL takes at most. */
const PAYLOADS = /\S.{0,7899}(?!\S)/g

function closing(topics: Set<Topic>): string {
  const payloads = [...topics].join(' ').match(PAYLOADS)
  if (!payloads) return 'commit'
  const told = payloads.map((one) => `pg_notify('${CHANNEL}', ${pg.escapeLiteral(one)})`)
  return `select ${told.join(', ')}; commit`
}

export function lastCommand(result: pg.QueryResult | pg.QueryResult[]): string | undefined {
  return (Array.isArray(result) ? result.at(-1) : result)?.command
}
