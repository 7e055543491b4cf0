/**
 * The only way to the tables: a transaction in one tenant, or one across tenants. The scope is
 * part of the transaction, so row-level security holds it even where a query forgets to.
 */
import { sql } from 'kysely'
import type pg from 'pg'
import type { Role } from '../../lib/roles.ts'
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import { type AgreedClock, agreedClock } from './agreed-clock.ts'
import { type Changes, readClosed } from './changes.ts'
import { AWAY_MS, type DatabaseAddress, hangUp, openPool } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { isKeyGone, isOutdated, isRetryable, isUnwritable, RolledBack } from './failures.ts'
import { openGate, type RequireOpen } from './require-open.ts'
import { openSharedCommits, type Rows, type SharedStatement } from './shared-commits.ts'
import { ask, type Statement } from './statements.ts'
import type { Topic } from './topics.ts'
import { OldTotal, openTotals } from './totals.ts'
import {
  firstFailure,
  lastCommand,
  type Mode,
  type Opened,
  type OpenTx,
  opening,
  type Scoped,
  type Sent,
  type TenantTx,
  transactionOn,
} from './transaction.ts'

/**
 * What would write is refused (503 `restoring`) while a restore has closed the service for the scope: also
 * what works by itself, which comes again.
 */
export interface Scopes {
  /** Runs `work` seeing the rows of one tenant. Runs again when others have outpaced it (`isRetryable`). */
  inTenant<T>(tenantId: number, work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /** Runs `work` seeing the rows of all tenants: for superadmins, sign-in and upkeep. */
  acrossTenants<T>(work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /**
   * Runs one statement in a tenant, and answers its rows once they have committed. What comes at the same time
   * shares a commit, whatever its tenant. Has every node look for work of the topics where there is a row.
   */
  sendInTenant<R>(tenantId: number, query: Statement, ...topics: Topic[]): Promise<R[]>
  /** The clock of its transactions, by which `begunAt` is measured. */
  readonly clock: Time
  /** The time that irreversible deletions go by. */
  readonly agreedClock: AgreedClock
  /** Refuses what must not go on while a restore has closed the service. */
  readonly requireOpen: RequireOpen
  /** The same for the restore itself, which is never refused. */
  whileClosed(): Scopes
  /** How many transactions wait for a connection. */
  waiting(): number
  /** Milliseconds that transactions have taken by now, all of them together. */
  spentMs(): number
  /** False for a minute after the server could not write: its disk is full, or it is a standby. */
  canWrite(): boolean
  /** Milliseconds of one round trip. Fails as any query does when the database is away. */
  ping(): Promise<number>
  close(): Promise<void>
}

const TRIES = 3
/** A failed write keeps the health report degraded for this long: the next one may only be due by then. */
const UNWRITABLE_FOR_MS = 60_000
/** A database that is silent for this long is away, for the probes that ask. */
const PING_MS = 3_000

export interface ScopesOptions {
  /** Connections at most. */
  size: number
  changes: Changes
  log: Logger
  clock: Time
  /** Returns milliseconds since the epoch; the database is asked by default. */
  databaseNow?: () => Promise<number>
}

export function openScopes(address: DatabaseAddress, options: ScopesOptions): Scopes {
  const { size, changes, log, clock } = options
  const lost = (err: Error) => log.warn({ err }, 'lost a database connection')
  const pool = openPool(address, size)
  /** The connections that have prepared nothing before the tables last changed. */
  let current = new WeakSet<pg.PoolClient>()
  const totals = openTotals()
  let spentMs = 0
  let unwritableAt: number | undefined
  const agreed = agreedClock(clock, options.databaseNow ?? (() => readNow(pool)))
  const requireOpen = openGate(changes, () => readClosed(pool), { log, clock })
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
    tenantId: Opened,
    mode: Mode,
    work: (tx: OpenTx) => Promise<T>,
    isAgain: boolean,
  ): Promise<T> {
    const client = await checkOut()
    const begunAt = clock.monotonic()
    const { tx, sent, commit, abandon, committed } = transactionOn(client, tenantId, {
      mode,
      totals,
      isAgain,
      begunAt,
    })
    let broken: Error | undefined
    let value: T
    try {
      const begin = ask(client, opening(tenantId, mode))
      hangUpUnlessAnswered(client, begin)
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
        if (lastCommand(committed) !== 'COMMIT') throw new RolledBack()
      }
    } catch (error) {
      abandon()
      try {
        await client.query('rollback')
      } catch {
        broken = error as Error
      }
      if (isOutdated(error)) replace(client)
      if (mode === 'write' && isUnwritable(error)) unwritableAt = clock.monotonic()
      throw error
    } finally {
      client.release(broken)
      spentMs += clock.monotonic() - begunAt
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
        if (!(error instanceof OldTotal)) await clock.delay(tried * (20 + Math.random() * 30))
      }
    }
  }

  async function alone({ tenantId, query, topics }: SharedStatement, isRefused: boolean) {
    const send = async (tx: TenantTx) => tx.sendFor<Rows[number]>(query, ...topics)
    return (await run(tenantId, 'write', send, isRefused)).rows
  }

  async function together(statements: readonly SharedStatement[]): Promise<Rows[]> {
    await Promise.all(statements.map(({ tenantId }) => requireOpen(tenantId)))
    const sent = await once('each', 'write', async (tx) => sendEach(tx, statements), false)
    return Promise.all(sent.map(({ rows }) => rows))
  }
  const share = openSharedCommits({ alone: (one) => alone(one, true), together, clock })

  /** Each try asks anew: what was outpaced by a restore is not to come behind it. */
  const scopesFor = (isRefused: boolean): Scopes => ({
    inTenant: (tenantId, work, mode = 'write') => run(tenantId, mode, work, isRefused),
    acrossTenants: (work, mode = 'write') => run(null, mode, work, isRefused),
    async sendInTenant<R>(tenantId: number, query: Statement, ...topics: Topic[]) {
      const one = { tenantId, query, topics }
      return (await (isRefused ? share(one) : alone(one, isRefused))) as R[]
    },
    clock,
    agreedClock: agreed,
    requireOpen,
    whileClosed: () => scopesFor(false),
    waiting: () => pool.waitingCount,
    spentMs: () => spentMs,
    canWrite: () =>
      unwritableAt === undefined || clock.monotonic() - unwritableAt > UNWRITABLE_FOR_MS,
    async ping() {
      const start = clock.monotonic()
      await pool.query({ text: 'select 1', query_timeout: PING_MS } as pg.QueryConfig)
      return clock.monotonic() - start
    },
    close: () => pool.end(),
  })
  return scopesFor(true)
}

/**
 * Closes the connection where opening the transaction is not answered in time, as for a new connection. BEGIN waits
 * for no lock, so the database or the way to it is frozen.
 */
function hangUpUnlessAnswered(client: pg.PoolClient, begin: Promise<unknown>): void {
  let isAnswered = false
  const answered = () => {
    isAnswered = true
  }
  begin.then(answered, answered)
  // Checked after the next poll for input: if this process paused, the answer may have arrived already.
  const check = () => setImmediate(() => isAnswered || hangUp(client))
  withDeadline(begin, AWAY_MS).catch(check)
}

async function readNow(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ now: number }>({
    text: 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    query_timeout: PING_MS,
  } as pg.QueryConfig)
  return Number(rows[0]?.now)
}

/** Sends each in its own tenant. @throws RolledBack where one cannot be sent, and so none is */
function sendEach(tx: OpenTx, statements: readonly SharedStatement[]): Sent<Rows[number]>[] {
  try {
    return statements.map(({ tenantId, query, topics }) => {
      tx.enter(tenantId)
      return tx.sendFor<Rows[number]>(query, ...topics)
    })
  } catch (cause) {
    throw new RolledBack({ cause })
  }
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
