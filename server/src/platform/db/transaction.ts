/**
 * Runs one transaction on one connection: its scope, the statements of its work, and its notifications after the
 * commit.
 */
import type { Kysely, Transaction } from 'kysely'
import type pg from 'pg'
import type { Totals } from '../lists/totals.ts'
import { canThrow } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import type { Changes } from './changes.ts'
import { APP_ROLE, PLATFORM_ROLE } from './connection.ts'
import type { Database } from './database.ts'
import { isAborted } from './failures.ts'
import { recordTopics } from './invalidations.ts'
import type { RecentEntry } from './recent-entries.ts'
import { type Ask, prepared, queriesOn, type SendStatement, type Statement } from './statements.ts'
import type { Topic } from './topics.ts'

declare const scoped: unique symbol

/**
 * The result of a sent statement. Wraps the promise, because an async function would await a promise that it returns.
 */
export interface SentStatement<R> {
  rows: Promise<R[]>
}

/** The tenant scope of a query. */
export interface Scoped {
  readonly db: Kysely<Database>
  /** The tenant whose rows are visible, or null for all tenants. */
  readonly tenantId: number | null
}

/** An open transaction with its scope. Created by `Scopes`, `readIn` and `inOwnTransaction` only. */
export interface TenantTx extends Scoped {
  /** Kysely on this transaction. */
  readonly db: Transaction<Database>
  /** The start of the transaction on the monotonic clock. The transaction sees everything committed before then. */
  readonly begunAt: number
  /**
   * Sends a statement without waiting for its result. The commit does not wait either, and fails if the statement
   * fails.
   */
  send(query: Statement): void
  /**
   * Like `send`, but returns the rows, which the caller may await later. If `work` does not await them, they arrive
   * after the commit was sent. If the statement returns rows, notifies all nodes of the topics, as `notify` does.
   */
  sendFor<R>(query: Statement, ...topics: Topic[]): SentStatement<R>
  /** Sends a statement that returns journal entries. This node remembers them after the commit is acknowledged. */
  sendEntries(query: Statement): SentStatement<RecentEntry>
  /**
   * Sends the commit before `work` returns. No statement may follow. The commit shares a packet with the statements
   * sent in the same turn of the event loop.
   */
  end(): void
  /** Whether this run is a retry. Outdated cached data may have caused the first run to fail. */
  readonly isAgain: boolean
  /** Makes all nodes drop their cached values of the topics, as part of the commit (see `changes.ts`). */
  invalidate(...topics: Topic[]): void
  /**
   * Notifies all nodes after the commit that there is work on the topics. Unlike `invalidate`, a notification adds no
   * cost to the commit and may be lost, so workers must also poll.
   */
  notify(...topics: Topic[]): void
  /** The list totals that this node has cached. */
  readonly totals: Totals
  /** Runs `work` after the commit. An error in `work` is logged and does not undo the commit. */
  afterCommit(work: () => void): void
  readonly [scoped]: true
}

/**
 * The modes for reading a page of a list, in one snapshot with a timeout of 3 s per statement. PostgreSQL plans a
 * `list` statement once for all values. It plans a `filtered list` for each set of values, because they decide which
 * index is best.
 */
export type ListMode = 'list' | 'filtered list'

/** The mode of a transaction. Only `write` transactions can write, and only they wait for their commit. */
export type Mode = 'write' | 'read' | ListMode

/** The tenant whose rows a transaction sees, null for all tenants, or `each` for the tenants that it enters in turn. */
export type Opened = number | null | 'each'

export interface OpenTx extends TenantTx {
  /** Switches the transaction to this tenant. Only for a transaction opened with `each`. */
  enter(tenantId: number): void
}

const WRITES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE'])

/** Returns the handle of a transaction, and functions to commit, abandon and follow up on it. */
export function transactionOn(
  ask: Ask,
  tenantId: Opened,
  {
    mode,
    totals,
    acknowledge = () => undefined,
    isAgain,
    begunAt,
  }: {
    mode: Mode
    totals: Totals
    /** Receives the journal entries after their commit was acknowledged. */
    acknowledge?: (entries: readonly RecentEntry[]) => void
    isAgain: boolean
    begunAt: number
  },
) {
  const topics = new Set<Topic>()
  const notified = new Set<Topic>()
  const followUps: (() => void)[] = []
  const sent: Promise<unknown>[] = []
  const entries: RecentEntry[] = []
  let committing: ReturnType<Ask> | undefined
  let recordedAs: string | undefined
  let isAbandoned = false
  let hasWritten = false
  const commit = () => {
    if (!committing) {
      committing = ask(closing(topics))
      committing.then(
        (result) => {
          recordedAs = numberOf(result)
        },
        // The caller that awaits the commit handles the error, if there is one.
        () => undefined,
      )
    }
    return committing
  }
  // A statement that is planned for each set of values gains nothing from being prepared.
  const scope = mode === 'filtered list' ? null : tenantId === null ? 'p' : 't'
  const run: SendStatement = ({ sql: text, parameters, waitMs }) => {
    // After the end, a statement would run without a scope, or in that of the connection's next user.
    if (committing || isAbandoned) throw new Error('the transaction has ended')
    const query = prepared(scope, text, parameters)
    const patience = waitMs === undefined ? {} : { query_timeout: waitMs }
    const answer = ask({ ...query, ...patience })
    answer.then(
      ({ command, rowCount }) => {
        hasWritten ||= WRITES.has(command) && rowCount !== 0
      },
      () => undefined,
    )
    return answer
  }
  const notify = (...work: Topic[]) => work.forEach((topic) => void notified.add(topic))
  // Bypasses Kysely's execution, which waits before sending, so the commit would overtake the statement.
  const sendFor = (query: Statement, ...work: Topic[]) => {
    const rows = run(query).then((answer) => {
      if (answer.rows.length > 0) notify(...work)
      return answer.rows
    })
    // A failure also fails the commit or a later statement, so it needs no handling here.
    rows.catch(() => undefined)
    sent.push(rows)
    return { rows }
  }
  const sendEntries = (query: Statement) => {
    const made = sendFor(query)
    made.rows.then(
      (rows: RecentEntry[]) => void entries.push(...rows),
      () => undefined,
    )
    return made
  }
  const tx = {
    db: queriesOn(run),
    tenantId,
    begunAt,
    totals,
    send: (query: Statement) => void sendFor(query),
    sendFor,
    sendEntries,
    end: () => void commit(),
    isAgain,
    invalidate: (...stale: Topic[]) => stale.forEach((topic) => void topics.add(topic)),
    notify,
    afterCommit: (work: () => void) => void followUps.push(work),
    // If switching the tenant fails, the following statements fail too.
    enter: (each: number) => void ask(entering(each)).catch(() => undefined),
  } as unknown as OpenTx
  return {
    tx,
    sent,
    commit,
    /** Returns whether any statement so far wrote rows. */
    hasWritten: () => hasWritten,
    /** Makes each later statement throw, in case `work` continues after the transaction failed. */
    abandon() {
      isAbandoned = true
    },
    /** Sends the notifications of the commit and runs the follow-up work. */
    committed(changes: Changes, log: Logger) {
      acknowledge(entries)
      if (recordedAs !== undefined) changes.acknowledge(recordedAs)
      for (const topic of topics) changes.notify(topic, recordedAs)
      for (const topic of notified) if (!topics.has(topic)) changes.notify(topic)
      for (const followUp of followUps) canThrow(followUp, 'work after a commit', log)
    },
  }
}

/**
 * Returns why a transaction failed: the error of the statement that caused it, instead of the next statement's
 * "transaction is aborted".
 */
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

/** Short limits for a shared transaction, because its waits and slow statements delay unrelated callers. */
const SHORT_WAIT = "set local lock_timeout = '100ms'; set local statement_timeout = '1s'"

export function opening(tenantId: Opened, mode: Mode): string {
  const begin = BEGIN[mode]
  if (tenantId === null) return `${begin}; set local role ${PLATFORM_ROLE}`
  // The connection starts with this role. Setting the role again prevents the address from overriding it.
  const asApp = `${begin}; set local role ${APP_ROLE}`
  return `${asApp}; ${tenantId === 'each' ? SHORT_WAIT : entering(tenantId)}`
}

function entering(tenantId: number): string {
  if (!Number.isSafeInteger(tenantId)) throw new TypeError('a tenant id must be an integer')
  return `set local wardkeep.tenant_id = '${tenantId}'`
}

/** Returns the commit, which also records the topics. A NOTIFY here would serialize all commits of the server. */
const closing = (topics: ReadonlySet<Topic>): string =>
  topics.size === 0 ? 'commit' : `${recordTopics(topics)}; commit`

/** Returns the id of the transaction if it recorded topics. */
const numberOf = (result: pg.QueryResult | pg.QueryResult[]): string | undefined =>
  Array.isArray(result) ? result[0]?.rows[0]?.xid : undefined

export function lastCommand(result: pg.QueryResult | pg.QueryResult[]): string | undefined {
  return (Array.isArray(result) ? result.at(-1) : result)?.command
}
