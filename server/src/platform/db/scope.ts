/**
 * The only access to the tables: a transaction within one tenant, or across tenants. Row-level security enforces the
 * scope, even if a query omits the condition on the tenant.
 */
import { sql } from 'kysely'
import type pg from 'pg'
import type { Role } from '../../lib/roles.ts'
import type { Time } from '../../lib/time.ts'
import { OldTotal, openTotals } from '../lists/totals.ts'
import type { Logger } from '../observe/log.ts'
import { type AgreedClock, agreedClock } from './agreed-clock.ts'
import type { Changes } from './changes.ts'
import { type DatabaseAddress, openPool } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { type EntryKey, entryKey as newEntryKey } from './entry-key.ts'
import {
  isKeyGone,
  isOutdated,
  isReadOnly,
  isRetryable,
  isUnwritable,
  markFailure,
  RolledBack,
  ServerMoved,
  spoilsConnection,
} from './failures.ts'
import { IS_READ_ONLY } from './first-message.ts'
import { TRUST_MS } from './heartbeat.ts'
import { hangUp } from './hosts.ts'
import { readMaintenance } from './maintenance.ts'
import { type RecentEntries, recentEntries } from './recent-entries.ts'
import { openGate, type RequireAvailable } from './require-available.ts'
import { openServerPool, type ServerPool } from './server-pool.ts'
import { openSharedCommits, type Rows, type SharedStatement } from './shared-commits.ts'
import { ENDLESS, type Patience, type SilenceWatch } from './silence.ts'
import { type Ask, ask, type Statement } from './statements.ts'
import type { Topic } from './topics.ts'
import {
  firstFailure,
  lastCommand,
  type Mode,
  type Opened,
  type OpenTx,
  opening,
  type Scoped,
  type SentStatement,
  type TenantTx,
  transactionOn,
} from './transaction.ts'
import { AWAY_MS, serverOf } from './verified-client.ts'

/** Opens transactions in a scope. Refuses writes (503 `restoring`) in maintenance mode, also for background work. */
export interface Scopes {
  /** Runs `work` in a transaction that sees one tenant. Repeats it after a lost race (`isRetryable`). */
  inTenant<T>(tenantId: number, work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /** Runs `work` in a transaction that sees all tenants, for superadmins, sign-in and upkeep. */
  acrossTenants<T>(work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /**
   * Runs one statement and returns its rows after the commit, which statements of any tenants share. Notifies all nodes
   * of the topics if the statement returns rows.
   */
  sendInTenant<R>(tenantId: number, query: Statement, ...topics: Topic[]): Promise<R[]>
  /** The clock for the start times (`begunAt`) of transactions. */
  readonly clock: Time
  readonly agreedClock: AgreedClock
  /** The key with which entries of the journal are marked. */
  readonly entryKey: EntryKey
  readonly requireAvailable: RequireAvailable
  /** Returns scopes for the restore itself, which maintenance mode never refuses. They wait as with `withPatience`. */
  duringMaintenance(): Scopes
  /** Returns scopes for background work. They wait for an unresponsive database without a time limit. */
  withPatience(): Scopes
  waiting(): number
  /** Returns the total duration of all transactions so far, in milliseconds. */
  spentMs(): number
  /** Returns false after the database could not write, until a successful write or for a minute. */
  canWrite(): boolean
  /** Measures one round trip to the database. Rejects while the database is away. */
  ping(): Promise<Ping>
  close(): Promise<void>
}

export interface Ping {
  latencyMs: number
  /** Whether the server is read-only, for example a standby. */
  isReadOnly: boolean
}

const TRIES = 3
/** How long a failed write degrades the health report, unless a later write succeeds. */
const UNWRITABLE_FOR_MS = 60_000
/** The time without a response after which a ping fails. */
const PING_MS = 3_000

export interface ScopesOptions {
  size: number
  changes: Changes
  log: Logger
  clock: Time
  /** Aborts waits for an unresponsive database. By default, waits have no time limit. */
  silence?: Pick<SilenceWatch, 'begin'>
  /** Records acknowledged journal entries, with which a new server is checked. By default they are not recorded. */
  recent?: RecentEntries
  /** The key with which entries are marked. By default one that is set later. */
  entryKey?: EntryKey
  /** Returns the database's time in milliseconds since the epoch. By default, queries the database. */
  databaseNow?: () => Promise<number>
}

export function openScopes(address: DatabaseAddress, options: ScopesOptions): Scopes {
  const { size, changes, log, clock, recent = recentEntries() } = options
  const { entryKey = newEntryKey() } = options
  const caller: View = { isRefused: true, begin: options.silence?.begin ?? endless }
  const lost = (err: Error) => log.warn({ err }, 'database connection lost')
  const opened = openPool(address, size)
  const pool = openServerPool(opened, { changes, log, clock, onLost: lost })
  /** Connections opened after the last change of the tables. Their prepared statements are up to date. */
  let current = new WeakSet<pg.PoolClient>()
  const totals = openTotals()
  let spentMs = 0
  let unwritableAt: number | undefined
  const agreed = agreedClock(clock, options.databaseNow ?? (() => readNow(pool)))
  const requireAvailable = openGate(changes, () => readMaintenance(pool, TRUST_MS), { log, clock })
  // A null topic may mean that a different server, with other totals, is used now.
  changes.subscribe((topic) => topic === null && totals.clear())
  opened.on('connect', (client) => current.add(client))

  /** Returns a connection whose prepared statements match the tables. Closes outdated connections of the pool. */
  async function checkOut(): Promise<pg.PoolClient> {
    const client = await pool.connect()
    if (current.has(client)) return client
    client.release(true)
    return checkOut()
  }

  /** Marks all current connections as outdated, because a newer release has changed the tables. */
  function replace(client: pg.PoolClient): void {
    log.info({}, 'table definitions changed; connections replaced')
    if (current.has(client)) current = new WeakSet()
  }

  async function once<T>(
    tenantId: Opened,
    mode: Mode,
    work: (tx: OpenTx) => Promise<T>,
    { isAgain, patience }: { isAgain: boolean; patience: Patience },
  ): Promise<T> {
    const client = await patience.connection(checkOut)
    const begunAt = clock.monotonic()
    const send: Ask = (query) => patience.answer(client, ask(client, query))
    const { tx, sent, commit, abandon, committed, hasWritten } = transactionOn(send, tenantId, {
      mode,
      totals,
      entryKey,
      acknowledge: (entries) => recent.add(serverOf(client), entries),
      isAgain,
      begunAt,
    })
    let broken: Error | undefined
    let value: T
    try {
      const begin = send(opening(tenantId, mode))
      hangUpUnlessAnswered(client, begin)
      // Ignores a failure of BEGIN here, because the work and the commit then fail too.
      begin.catch(() => undefined)
      const [done] = await Promise.allSettled([work(tx)])
      if (done.status === 'fulfilled') commit()
      await begin
      if (done.status === 'rejected') throw await firstFailure(done.reason, sent)
      value = done.value
      if (mode !== 'write') commit().catch(lost)
      else {
        // The commit of a failed transaction also fails if it records topics, and its error may arrive first.
        const [committed] = await Promise.all([commit(), ...sent]).catch(async (error) => {
          throw await firstFailure(error, sent)
        })
        // COMMIT of a failed transaction returns ROLLBACK and no error.
        if (lastCommand(committed) !== 'COMMIT') throw new RolledBack()
      }
      pool.requireCurrent(client)
      if (hasWritten()) unwritableAt = undefined
    } catch (error) {
      markFailure(error)
      abandon()
      try {
        await client.query('rollback')
      } catch {
        broken = error as Error
      }
      if (spoilsConnection(error)) broken = error as Error
      if (isOutdated(error)) replace(client)
      if (mode === 'write' && isUnwritable(error)) unwritableAt = clock.monotonic()
      throw error
    } finally {
      client.release(broken)
      spentMs += clock.monotonic() - begunAt
    }
    // Runs outside `try`, because an error after the commit is not a failure of the transaction.
    committed(changes, log)
    return value
  }

  async function run<T>(
    tenantId: number | null,
    mode: Mode,
    work: (tx: TenantTx) => Promise<T>,
    view: View,
  ): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      const opened = view.isRefused && mode === 'write' ? requireAvailable(tenantId) : undefined
      if (opened instanceof Promise) await opened
      try {
        return await once(tenantId, mode, work, { isAgain: tried > 1, patience: view.begin() })
      } catch (error) {
        const isElsewhere = tried === 1 && mayRunElsewhere(error, mode)
        if (tried >= TRIES || !(isElsewhere || isRetryable(error))) throw error
        if (isKeyGone(error)) changes.invalidate(['keys'])
        // Waits until the winner of the race has finished, because an immediate retry would collide again.
        if (!(isElsewhere || error instanceof OldTotal))
          await clock.delay(tried * (20 + Math.random() * 30))
      }
    }
  }

  async function alone({ tenantId, query, topics }: SharedStatement, view: View) {
    const send = async (tx: TenantTx) => tx.sendFor<Rows[number]>(query, ...topics)
    return (await run(tenantId, 'write', send, view)).rows
  }

  async function together(statements: readonly SharedStatement[]): Promise<Rows[]> {
    await Promise.all(statements.map(({ tenantId }) => requireAvailable(tenantId)))
    const send = async (tx: OpenTx) => sendEach(tx, statements)
    const sent = await once('each', 'write', send, { isAgain: false, patience: caller.begin() })
    return Promise.all(sent.map(({ rows }) => rows))
  }
  const share = openSharedCommits({ alone: (one) => alone(one, caller), together, clock })

  /** Returns the scopes of a caller. Each retry checks maintenance mode, so none writes after a restore has begun. */
  const scopesFor = (view: View): Scopes => ({
    inTenant: (tenantId, work, mode = 'write') => run(tenantId, mode, work, view),
    acrossTenants: (work, mode = 'write') => run(null, mode, work, view),
    sendInTenant: <R>(tenantId: number, query: Statement, ...topics: Topic[]) =>
      (view === caller ? share : alone)({ tenantId, query, topics }, view) as Promise<R[]>,
    clock,
    agreedClock: agreed,
    entryKey,
    requireAvailable,
    duringMaintenance: () => scopesFor({ isRefused: false, begin: endless }),
    withPatience: () => scopesFor({ ...view, begin: endless }),
    waiting: pool.waiting,
    spentMs: () => spentMs,
    canWrite: () =>
      unwritableAt === undefined || clock.monotonic() - unwritableAt > UNWRITABLE_FOR_MS,
    ping: () => measurePing(pool, view.begin(), clock),
    close: pool.close,
  })
  return scopesFor(caller)
}

interface View {
  isRefused: boolean
  /** Returns the object that limits the waits of a new transaction. */
  begin: () => Patience
}

const endless = (): Patience => ENDLESS

/** Closes the connection if BEGIN takes too long. BEGIN never waits for a lock, so the server or network hangs. */
function hangUpUnlessAnswered(client: pg.PoolClient, begin: Promise<unknown>): void {
  let isAnswered = false
  const answered = () => {
    isAnswered = true
  }
  begin.then(answered, answered)
  // Checks only after pending input was read. If this process was suspended, the response may already have arrived.
  const check = () => setImmediate(() => isAnswered || hangUp(client))
  withDeadline(begin, AWAY_MS).catch(check)
}

/** Returns whether a failed transaction may run again elsewhere: it has written nothing, or it only reads. */
const mayRunElsewhere = (error: unknown, mode: Mode): boolean =>
  mode === 'write' ? isReadOnly(error) : error instanceof ServerMoved

async function measurePing(pool: ServerPool, patience: Patience, clock: Time): Promise<Ping> {
  const start = clock.monotonic()
  const isReadOnly = await readIsReadOnly(pool, patience)
  return { latencyMs: clock.monotonic() - start, isReadOnly }
}

async function readIsReadOnly(pool: ServerPool, patience: Patience): Promise<boolean> {
  const query = { text: `select ${IS_READ_ONLY} as is_read_only`, query_timeout: PING_MS }
  const { rows } = await pool.query<{ is_read_only: boolean }>(query, [], patience)
  return rows[0]?.is_read_only === true
}

async function readNow(pool: ServerPool): Promise<number> {
  const { rows } = await pool.query<{ now: number }>({
    text: 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    query_timeout: PING_MS,
  } as pg.QueryConfig)
  return Number(rows[0]?.now)
}

/** Sends each statement in the scope of its tenant. @throws RolledBack if one cannot be sent; none then takes effect */
function sendEach(
  tx: OpenTx,
  statements: readonly SharedStatement[],
): SentStatement<Rows[number]>[] {
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
 * Returns the SQL condition for rows of the scope and of tenants that are not deleted: `where(ofScope(tx,
 * 'users.tenant_id'))`.
 */
export function ofScope(tx: Scoped, column: string) {
  return tx.tenantId === null
    ? sql<boolean>`${sql.ref(column)} not in (select id from tenants where deleted_at is not null)`
    : sql<boolean>`${sql.ref(column)} = ${tx.tenantId}`
}

/**
 * Returns the SQL condition for rows of the transaction's tenant. Across tenants, it matches rows without a tenant and
 * rows of `tenantId`, or if that is null, of every tenant that is not deleted.
 */
export function ofInstallation(tx: Scoped, column: string, tenantId: number | null) {
  if (tx.tenantId !== null) return ofScope(tx, column)
  const of = tenantId === null ? ofScope(tx, column) : ofScope({ ...tx, tenantId }, column)
  return sql<boolean>`(${sql.ref(column)} is null or ${of})`
}

/** A tenant's id, or null for all tenants. */
export type Scope = number | null

/**
 * Returns the scope of a caller: for superadmins all tenants or the named one, for others their own
 * (`requireOwnTenant`).
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

/** Runs `work` in the scope of a signed-in caller (`scopeOf`). */
export function forCaller<T>(
  db: Scopes,
  caller: { role: Role; tenant_id: number },
  work: (tx: TenantTx) => Promise<T>,
  mode: Mode = 'write',
): Promise<T> {
  return inScope(db, scopeOf(caller), work, mode)
}
