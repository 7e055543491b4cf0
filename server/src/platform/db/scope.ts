/**
 * The only way to the tables: a transaction in one tenant, or one across tenants. The scope is
 * part of the transaction, so row-level security holds it even where a query forgets to.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql, type Transaction } from 'kysely'
import pg from 'pg'
import type { Role } from '../../lib/roles.ts'
import { canThrow } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import type { Changes } from './changes.ts'
import { CHANNEL, readClosed } from './changes.ts'
import { APP_ROLE, type DatabaseAddress, openPool, PLATFORM_ROLE } from './connection.ts'
import type { Database } from './database.ts'
import { isAborted, isKeyGone, isOutdated, isRetryable } from './failures.ts'
import { openGate, type RequireOpen } from './require-open.ts'
import { ask, prepared, queriesOn, type Send, type Statement } from './statements.ts'
import type { Topic } from './topics.ts'
import { OldTotal, openTotals, type Totals } from './totals.ts'

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

/** An open transaction with its scope. Only `inTenant` and `acrossTenants` make one. */
export interface TenantTx extends Scoped {
  /** Kysely on this transaction. */
  readonly db: Transaction<Database>
  /** When it was begun, by `performance.now()`: it sees whatever was committed before. */
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

/**
 * What would write is refused (503 `restoring`) while a restore has closed the service for the scope: also
 * what works by itself, which comes again.
 */
export interface Scopes {
  /** Runs `work` seeing the rows of one tenant. Runs again when others have outpaced it (`isRetryable`). */
  inTenant<T>(tenantId: number, work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /** Runs `work` seeing the rows of all tenants: for superadmins, sign-in and upkeep. */
  acrossTenants<T>(work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /** Refuses what must not go on while a restore has closed the service. */
  readonly requireOpen: RequireOpen
  /** The same for the restore itself, which is never refused. */
  whileClosed(): Scopes
  /** How many transactions wait for a connection. */
  waiting(): number
  /** Milliseconds that transactions have taken by now, all of them together. */
  spentMs(): number
  /** Milliseconds of one round trip. Fails as any query does when the database is away. */
  ping(): Promise<number>
  close(): Promise<void>
}

const TRIES = 3
/** A database that is silent for this long is away, for the probes that ask. */
const PING_MS = 3_000

export function openScopes(
  address: DatabaseAddress,
  { size, changes, log }: { size: number; changes: Changes; log: Logger },
): Scopes {
  const lost = (err: Error) => log.warn({ err }, 'lost a database connection')
  const pool = openPool(address, size)
  /** The connections that have prepared nothing before the tables last changed. */
  let current = new WeakSet<pg.PoolClient>()
  const totals = openTotals()
  let spentMs = 0
  const requireOpen = openGate(changes, () => readClosed(pool), log)
  // What may have been missed may have been another server taking this one's place.
  changes.subscribe((topic) => topic === null && totals.clear())
  pool.on('error', lost)
  pool.on('connect', (client) => {
    current.add(client)
    // While a transaction has it, the pool does not listen; its next query then says what was lost.
    client.on('error', () => undefined)
  })

  /** A connection whose prepared statements fit the tables; the others are closed as they come up. */
  async function checkOut(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect()
      if (current.has(client)) return client
      client.release(true)
    }
  }

  /** Has every connection replaced that is as old as this one, as a newer node changed the tables. */
  function replace(client: pg.PoolClient): void {
    log.info({}, 'the tables have changed; connections are replaced')
    if (current.has(client)) current = new WeakSet()
  }

  async function once<T>(
    tenantId: number | null,
    mode: Mode,
    work: (tx: TenantTx) => Promise<T>,
    isAgain: boolean,
  ): Promise<T> {
    const client = await checkOut()
    const begunAt = performance.now()
    const { tx, sent, commit, abandon, committed } = transactionOn(client, tenantId, {
      mode,
      totals,
      isAgain,
    })
    let broken: Error | undefined
    let value: T
    try {
      const begin = ask(client, opening(tenantId, mode))
      // Neither the work nor the commit waits for its answer: where it fails, so do they.
      begin.catch(() => undefined)
      const [done] = await Promise.allSettled([work(tx)])
      if (done.status === 'fulfilled') commit()
      await begin
      if (done.status === 'rejected') throw await firstFailure(done.reason, sent)
      value = done.value
      if (mode !== 'write') commit().catch(lost)
      else {
        // The commit of a failed transaction fails as well where it tells of topics, and may be heard first.
        const [committed] = await Promise.all([commit(), ...sent]).catch(async (error) => {
          throw await firstFailure(error, sent)
        })
        // COMMIT of a failed transaction answers ROLLBACK without an error.
        if (lastCommand(committed) !== 'COMMIT') throw new Error('the transaction was rolled back')
      }
    } catch (error) {
      abandon()
      try {
        await client.query('rollback')
      } catch {
        broken = error as Error
      }
      if (isOutdated(error)) replace(client)
      throw error
    } finally {
      client.release(broken)
      spentMs += performance.now() - begunAt
    }
    // Behind the commit: nothing that fails from here on may look like a change that did not happen.
    committed(changes, log)
    return value
  }

  async function run<T>(
    tenantId: number | null,
    mode: Mode,
    work: (tx: TenantTx) => Promise<T>,
    isRefused: boolean,
  ): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      const opened = isRefused && mode === 'write' ? requireOpen(tenantId) : undefined
      if (opened instanceof Promise) await opened
      try {
        return await once(tenantId, mode, work, tried > 1)
      } catch (error) {
        if (tried >= TRIES || !isRetryable(error)) throw error
        if (isKeyGone(error)) changes.invalidate(['keys'])
        // Let the winner go on: at once, the two would meet in the same places again.
        if (!(error instanceof OldTotal)) await delay(tried * (20 + Math.random() * 30))
      }
    }
  }

  /** Each try asks anew: what was outpaced by a restore is not to come behind it. */
  const scopesFor = (isRefused: boolean): Scopes => ({
    inTenant: (tenantId, work, mode = 'write') => run(tenantId, mode, work, isRefused),
    acrossTenants: (work, mode = 'write') => run(null, mode, work, isRefused),
    requireOpen,
    whileClosed: () => scopesFor(false),
    waiting: () => pool.waitingCount,
    spentMs: () => spentMs,
    async ping() {
      const start = performance.now()
      await pool.query({ text: 'select 1', query_timeout: PING_MS } as pg.QueryConfig)
      return performance.now() - start
    },
    close: () => pool.end(),
  })
  return scopesFor(true)
}

/** The handle of a transaction, and what its work leaves for the commit and for after it. */
function transactionOn(
  client: pg.PoolClient,
  tenantId: number | null,
  { mode, totals, isAgain }: { mode: Mode; totals: Totals; isAgain: boolean },
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
    begunAt: performance.now(),
    totals,
    send: (query: Statement) => void sendFor(query),
    sendFor,
    end: () => void commit(),
    isAgain,
    invalidate: (...stale: Topic[]) => stale.forEach((topic) => void topics.add(topic)),
    notify,
    afterCommit: (work: () => void) => void followUps.push(work),
  } as unknown as TenantTx
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
async function firstFailure(failure: unknown, sent: Promise<unknown>[]): Promise<unknown> {
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

function opening(tenantId: number | null, mode: Mode): string {
  const begin = BEGIN[mode]
  if (tenantId === null) return `${begin}; set local role ${PLATFORM_ROLE}`
  if (!Number.isSafeInteger(tenantId)) throw new TypeError('a tenant id is an integer')
  // The connection has this role from the start; said again, nothing in its address can undo it.
  return `${begin}; set local role ${APP_ROLE}; set local wardkeep.tenant_id = '${tenantId}'`
}

/** The topics, which have no spaces, in pieces below the 8,000 bytes that PostgreSQL takes at most. */
const PAYLOADS = /\S.{0,7899}(?!\S)/g

function closing(topics: Set<Topic>): string {
  const payloads = [...topics].join(' ').match(PAYLOADS)
  if (!payloads) return 'commit'
  const told = payloads.map((one) => `pg_notify('${CHANNEL}', ${pg.escapeLiteral(one)})`)
  return `select ${told.join(', ')}; commit`
}

function lastCommand(result: pg.QueryResult | pg.QueryResult[]): string | undefined {
  return (Array.isArray(result) ? result.at(-1) : result)?.command
}

/**
 * The first wall: the condition that a row belongs to the scope, and its tenant is not deleted.
 * Row-level security is the second. `where(ofScope(tx, 'users.tenant_id'))`.
 */
export function ofScope(tx: Scoped, column: string) {
  return tx.tenantId === null
    ? sql<boolean>`${sql.ref(column)} not in (select id from tenants where deleted_at is not null)`
    : sql<boolean>`${sql.ref(column)} = ${tx.tenantId}`
}

/** One tenant by its id, or null for all. */
export type Scope = number | null

/**
 * The scope of a caller: all tenants for a superadmin, unless they name one; their own for anyone
 * else, who cannot name another (`requireOwnTenant`).
 */
export function scopeOf(caller: { role: Role; tenant_id: number }, named?: number): Scope {
  return caller.role === 'superadmin' ? (named ?? null) : caller.tenant_id
}

export function inScope<T>(
  db: Scopes,
  scope: Scope,
  work: (tx: TenantTx) => Promise<T>,
  mode: Mode = 'write',
): Promise<T> {
  return scope === null ? db.acrossTenants(work, mode) : db.inTenant(scope, work, mode)
}

/** Runs `work` in the caller's scope. */
export function forCaller<T>(
  db: Scopes,
  caller: { role: Role; tenant_id: number },
  work: (tx: TenantTx) => Promise<T>,
  mode: Mode = 'write',
): Promise<T> {
  return inScope(db, scopeOf(caller), work, mode)
}
