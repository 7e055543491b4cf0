/** Runs one transaction on one connection: scope, statements, and notifications after the commit. */
import type { Kysely, Transaction } from 'kysely'
import type pg from 'pg'
import type { Totals } from '../lists/totals.ts'
import { canThrow } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import type { Changes } from './changes.ts'
import { APP_ROLE, PLATFORM_ROLE } from './connection.ts'
import type { Database } from './database.ts'
import type { EntryKey } from './entry-key.ts'
import { isAborted } from './failures.ts'
import { recordTopics } from './invalidations.ts'
import type { RecentEntry } from './recent-entries.ts'
import { type Ask, prepared, queriesOn, type SendStatement, type Statement } from './statements.ts'
import type { Topic } from './topics.ts'

declare const scoped: unique symbol

/** The result of a sent statement, in an object, because an async function would await a returned promise. */
export interface SentStatement<R> {
  rows: Promise<R[]>
}

export interface Scoped {
  readonly db: Kysely<Database>
  /** The tenant whose rows are visible, or null for all tenants. */
  readonly tenantId: number | null
}

/** An open transaction with its scope. Created by `Scopes`, `readIn` and `inOwnTransaction` only. */
export interface TenantTx extends Scoped {
  readonly db: Transaction<Database>
  /** The start on the monotonic clock. The transaction sees everything that was committed before. */
  readonly begunAt: number
  /** Sends a statement without waiting for its result. If the statement fails, the commit fails too. */
  send(query: Statement): void
  /**
   * Like `send`, but returns rows, which arrive after the commit was sent unless `work` awaits them. Notifies all nodes
   * of the topics as `notify` does if the statement returns rows.
   */
  sendFor<R>(query: Statement, ...topics: Topic[]): SentStatement<R>
  /** Sends a statement that returns journal entries, which this node remembers after the commit. */
  sendEntries(query: Statement): SentStatement<RecentEntry>
  /**
   * Sends the commit before `work` returns, in one packet with statements of the same turn. No statement may follow.
   */
  end(): void
  /** Whether this run is a retry. Outdated cached data may have caused the first run to fail. */
  readonly isAgain: boolean
  /** Makes all nodes drop their cached values of the topics. The commit includes the topics (see `changes.ts`). */
  invalidate(...topics: Topic[]): void
  /**
   * Notifies all nodes after the commit that there is work. Costs the commit nothing, but may be lost. Workers must
   * poll.
   */
  notify(...topics: Topic[]): void
  /** The key with which entries of the journal are marked. */
  readonly entryKey: EntryKey
  /** The list totals that this node has cached. */
  readonly totals: Totals
  /** Runs `work` after the commit. An error in `work` is logged and does not undo the commit. */
  afterCommit(work: () => void): void
  readonly [scoped]: true
}

/**
 * The modes for reading a page in one snapshot, with a timeout of 3 s per statement. PostgreSQL plans `list` once, and
 * `filtered list` for each set of values, because the best index depends on the values.
 */
export type ListMode = 'list' | 'filtered list'

/** The mode of a transaction. Only `write` transactions can write, and only they wait for their commit. */
export type Mode = 'write' | 'read' | ListMode

/** The scope: a tenant, null for all tenants, or `each` to enter one tenant after the other. */
export type Opened = number | null | 'each'

export interface OpenTx extends TenantTx {
  /** Switches the transaction to this tenant. Only for a transaction opened with `each`. */
  enter(tenantId: number): void
}

const WRITES: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE'])

export function transactionOn(
  ask: Ask,
  tenantId: Opened,
  {
    mode,
    totals,
    entryKey,
    acknowledge = () => undefined,
    isAgain,
    begunAt,
  }: {
    mode: Mode
    totals: Totals
    entryKey: EntryKey
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
  // A statement that is planned for each set of values is not prepared, because preparing saves nothing.
  const scope = mode === 'filtered list' ? null : tenantId === null ? 'p' : 't'
  const run: SendStatement = ({ sql: text, parameters, waitMs }) => {
    // Otherwise the statement would run without a scope, or in the scope of the connection's next user.
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
  // Bypasses Kysely's execution, which waits before sending. The commit would then be sent before the statement.
  const sendFor = (query: Statement, ...work: Topic[]) => {
    const rows = run(query).then((answer) => {
      if (answer.rows.length > 0) notify(...work)
      return answer.rows
    })
    // Ignores a failure here, because the commit or a later statement fails too.
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
    entryKey,
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
    /** Makes each later statement throw. `work` may continue after the transaction has failed. */
    abandon() {
      isAbandoned = true
    },
    committed(changes: Changes, log: Logger) {
      acknowledge(entries)
      if (recordedAs !== undefined) changes.acknowledge(recordedAs)
      for (const topic of topics) changes.notify(topic, recordedAs)
      for (const topic of notified) if (!topics.has(topic)) changes.notify(topic)
      for (const followUp of followUps) canThrow(followUp, 'work after a commit', log)
    },
  }
}

/** Returns the error that caused a failure, and not the later error "transaction is aborted". */
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

/** Short time limits for a shared transaction, because its waits and slow statements delay unrelated callers. */
const SHORT_WAIT = "set local lock_timeout = '100ms'; set local statement_timeout = '1s'"

export function opening(tenantId: Opened, mode: Mode): string {
  const begin = BEGIN[mode]
  if (tenantId === null) return `${begin}; set local role ${PLATFORM_ROLE}`
  // Sets the role again although the connection starts with this role, so that the address cannot override the role.
  const asApp = `${begin}; set local role ${APP_ROLE}`
  return `${asApp}; ${tenantId === 'each' ? SHORT_WAIT : entering(tenantId)}`
}

function entering(tenantId: number): string {
  if (!Number.isSafeInteger(tenantId)) throw new TypeError('a tenant id must be an integer')
  return `set local wardkeep.tenant_id = '${tenantId}'`
}

/** Returns the SQL that records the topics and commits. A NOTIFY inside would make all commits wait for each other. */
const closing = (topics: ReadonlySet<Topic>): string =>
  topics.size === 0 ? 'commit' : `${recordTopics(topics)}; commit`

/** Returns the id of the transaction if it recorded topics. */
const numberOf = (result: pg.QueryResult | pg.QueryResult[]): string | undefined =>
  Array.isArray(result) ? result[0]?.rows[0]?.xid : undefined

export function lastCommand(result: pg.QueryResult | pg.QueryResult[]): string | undefined {
  return (Array.isArray(result) ? result.at(-1) : result)?.command
}
