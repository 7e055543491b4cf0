/**
 * The only way to the tables: a transaction in one tenant, or one across tenants. The scope is
 * part of the transaction, so row-level security holds it even where a query forgets to.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type CompiledQuery, sql, type Transaction } from 'kysely'
import pg from 'pg'
import type { Role } from '../../lib/roles.ts'
import type { Changes, Topic } from './changes.ts'
import { CHANNEL } from './changes.ts'
import { APP_ROLE, type DatabaseAddress, openPool, PLATFORM_ROLE } from './connection.ts'
import type { Database } from './database.ts'
import { isAborted, isRetryable } from './failures.ts'
import { prepared, queriesOn } from './statements.ts'

declare const scoped: unique symbol

/** An open transaction with its scope. Only `inTenant` and `acrossTenants` make one. */
export interface TenantTx {
  /** Kysely on this transaction. */
  readonly db: Transaction<Database>
  /** The tenant that is seen; null when all are. */
  readonly tenantId: number | null
  /**
   * Sends a statement whose answer nobody needs, without waiting for it: the commit goes out right
   * behind it, and fails where it does.
   */
  send(query: CompiledQuery): void
  /** Says what the commit will make stale on every node (see `changes.ts`). */
  stale(...topics: Topic[]): void
  /**
   * Says where the commit makes work, to be told on every node after it. Unlike `stale` it costs the
   * commit nothing, and may be lost: for those who look by themselves as well.
   */
  announce(...topics: Topic[]): void
  /** Runs once the transaction has committed. */
  afterCommit(work: () => void): void
  readonly [scoped]: true
}

/** `read` transactions cannot write, and their commit is not waited for. */
export type Mode = 'write' | 'read'

export interface Scopes {
  /** Runs `work` seeing the rows of one tenant. Runs again when it lost a deadlock. */
  inTenant<T>(tenantId: number, work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /** Runs `work` seeing the rows of all tenants: for superadmins, sign-in and upkeep. */
  acrossTenants<T>(work: (tx: TenantTx) => Promise<T>, mode?: Mode): Promise<T>
  /** Milliseconds of one round trip. Fails as any query does when the database is away. */
  ping(): Promise<number>
  close(): Promise<void>
}

const TRIES = 3
/** A database that is silent for this long is away, for the probes that ask. */
const PING_MS = 3_000

export function openScopes(
  address: DatabaseAddress,
  options: { size: number; changes: Changes; onLost: (error: Error) => void },
): Scopes {
  const pool = openPool(address, options.size)
  pool.on('error', options.onLost)
  // While a transaction has it, the pool does not listen; its next query then says what was lost.
  pool.on('connect', (client) => void client.on('error', () => undefined))

  async function once<T>(
    tenantId: number | null,
    mode: Mode,
    work: (tx: TenantTx) => Promise<T>,
  ): Promise<T> {
    const client = await pool.connect()
    const topics = new Set<Topic>()
    const announced = new Set<Topic>()
    const followUps: (() => void)[] = []
    const sent: Promise<unknown>[] = []
    const scope = tenantId === null ? 'p' : 't'
    let broken: Error | undefined
    try {
      const begin = client.query(opening(tenantId, mode))
      const tx = {
        db: queriesOn(client, scope),
        tenantId,
        // Not by Kysely's own execution, which waits before it sends: the commit would overtake it.
        send({ sql: text, parameters }: CompiledQuery) {
          const answer = client.query(prepared(scope, text, parameters))
          // Its failure is heard with the commit's, or by what fails after it.
          answer.catch(() => undefined)
          sent.push(answer)
        },
        stale: (...stale: Topic[]) => stale.forEach((topic) => void topics.add(topic)),
        announce: (...work: Topic[]) => work.forEach((topic) => void announced.add(topic)),
        afterCommit: (work: () => void) => void followUps.push(work),
      } as unknown as TenantTx
      // The opening is on the wire already; what follows it need not wait for its answer.
      const [begun, done] = await Promise.allSettled([begin, work(tx)])
      if (begun.status === 'rejected') throw begun.reason
      if (done.status === 'rejected') throw await firstFailure(done.reason, sent)
      const commit = client.query(closing(topics))
      if (mode === 'read') commit.catch(options.onLost)
      else {
        const [committed] = await Promise.all([commit, ...sent])
        // COMMIT of a failed transaction answers ROLLBACK without an error.
        if (lastCommand(committed) !== 'COMMIT') throw new Error('the transaction was rolled back')
      }
      options.changes.emit(topics)
      for (const topic of announced) options.changes.announce(topic)
      for (const followUp of followUps) followUp()
      return done.value
    } catch (error) {
      try {
        await client.query('rollback')
      } catch {
        broken = error as Error
      }
      throw error
    } finally {
      client.release(broken)
    }
  }

  async function run<T>(
    tenantId: number | null,
    mode: Mode,
    work: (tx: TenantTx) => Promise<T>,
  ): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await once(tenantId, mode, work)
      } catch (error) {
        if (tried >= TRIES || !isRetryable(error)) throw error
        // Let the winner go on: at once, the two would meet in the same places again.
        await delay(tried * (20 + Math.random() * 30))
      }
    }
  }

  return {
    inTenant: (tenantId, work, mode = 'write') => run(tenantId, mode, work),
    acrossTenants: (work, mode = 'write') => run(null, mode, work),
    async ping() {
      const start = performance.now()
      await pool.query({ text: 'select 1', query_timeout: PING_MS } as pg.QueryConfig)
      return performance.now() - start
    },
    close: () => pool.end(),
  }
}

/** Why a transaction failed: the statement that was sent and failed, not the next one's echo of it. */
async function firstFailure(failure: unknown, sent: Promise<unknown>[]): Promise<unknown> {
  if (!isAborted(failure)) return failure
  const outcomes = await Promise.allSettled(sent)
  return outcomes.find((outcome) => outcome.status === 'rejected')?.reason ?? failure
}

function opening(tenantId: number | null, mode: Mode): string {
  const begin = mode === 'read' ? 'begin read only' : 'begin'
  if (tenantId === null) return `${begin}; set local role ${PLATFORM_ROLE}`
  if (!Number.isSafeInteger(tenantId)) throw new TypeError('a tenant id is an integer')
  // The connection has this role from the start; said again, nothing in its address can undo it.
  return `${begin}; set local role ${APP_ROLE}; set local wardkeep.tenant_id = '${tenantId}'`
}

function closing(topics: Set<Topic>): string {
  if (topics.size === 0) return 'commit'
  const payload = pg.escapeLiteral([...topics].join(' '))
  return `select pg_notify('${CHANNEL}', ${payload}); commit`
}

function lastCommand(result: pg.QueryResult | pg.QueryResult[]): string | undefined {
  return (Array.isArray(result) ? result.at(-1) : result)?.command
}

/**
 * The first wall: the condition that a row belongs to the scope, and its tenant is not deleted.
 * Row-level security is the second. `where(ofScope(tx, 'users.tenant_id'))`.
 */
export function ofScope(tx: TenantTx, column: string) {
  return tx.tenantId === null
    ? sql<boolean>`${sql.ref(column)} not in (select id from tenants where deleted_at is not null)`
    : sql<boolean>`${sql.ref(column)} = ${tx.tenantId}`
}

/** Runs `work` in the caller's scope: all tenants for a superadmin, their own for anyone else. */
export function forCaller<T>(
  db: Scopes,
  caller: { role: Role; tenant_id: number },
  work: (tx: TenantTx) => Promise<T>,
  mode: Mode = 'write',
): Promise<T> {
  return caller.role === 'superadmin'
    ? db.acrossTenants(work, mode)
    : db.inTenant(caller.tenant_id, work, mode)
}
