/** A pool of connections to the server that the listener trusts (decision 0035). */
import type pg from 'pg'
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import type { Changes } from './changes.ts'
import { withDeadline } from './deadline.ts'
import { markFailure, ServerMoved, ServerRefused } from './failures.ts'
import { isSameServer } from './first-message.ts'
import { hangUp } from './hosts.ts'
import { ENDLESS, type Patience } from './silence.ts'
import { AWAY_MS, serverOf } from './verified-client.ts'

export interface ServerPool {
  /**
   * Waits for a connection to the listener's current or last server. Before its first connection, accepts any server
   * that can write. @throws ServerRefused if the address leads elsewhere, or a check takes longer than 5 s
   */
  connect(): Promise<pg.PoolClient>
  /** Runs one statement on a connection of the pool. */
  query<R extends pg.QueryResultRow>(
    query: string | pg.QueryConfig,
    values?: unknown[],
    patience?: Patience,
  ): Promise<pg.QueryResult<R>>
  /** @throws ServerMoved if the listener has moved. Results of this connection must then be discarded. */
  requireCurrent(client: pg.PoolClient): void
  waiting(): number
  close(): Promise<void>
}

export interface ServerPoolOptions {
  changes: Pick<Changes, 'server' | 'recheck' | 'subscribe'>
  log: Logger
  clock: Pick<Time, 'monotonic'>
  /** Called with the error of each idle connection that is lost. */
  onLost(error: Error): void
}

export function openServerPool(
  pool: pg.Pool,
  { changes, log, clock, onLost }: ServerPoolOptions,
): ServerPool {
  const clients = new Set<pg.PoolClient>()
  /** Connections that were closed because the listener has moved. The pool may still return them. */
  const closed = new WeakSet<pg.PoolClient>()
  pool.on('connect', (client) => clients.add(client))
  pool.on('remove', (client) => clients.delete(client))
  pool.on('error', (error, client) => closed.has(client) || onLost(markFailure(error)))
  // The listener sends null each time it connects, possibly to another server.
  const unsubscribe = changes.subscribe((topic) => topic === null && closeOthers())

  function isCurrent(client: pg.PoolClient): boolean {
    const trusted = changes.server()
    if (closed.has(client) || trusted === null) return false
    return trusted === undefined || isSameServer(trusted, serverOf(client))
  }

  function closeOthers(): void {
    const others = [...clients].filter((client) => !isCurrent(client) && !closed.has(client))
    for (const client of others) {
      closed.add(client)
      hangUp(client)
    }
    if (others.length > 0)
      log.info({ connections: others.length }, 'connections to another server closed')
  }

  function requireCurrent(client: pg.PoolClient): void {
    if (!isCurrent(client)) throw new ServerMoved()
  }

  async function connect(): Promise<pg.PoolClient> {
    const deadline = clock.monotonic() + AWAY_MS
    const left = () => Math.max(0, deadline - clock.monotonic()) || refuse()
    let client = await pool.connect()
    while (!isCurrent(client)) {
      const wasClosed = closed.has(client)
      client.release(true)
      // The address may now lead to another server. The listener checks this, and moves there if necessary.
      const checked = wasClosed ? undefined : changes.recheck()
      await withDeadline(Promise.resolve(checked), left()).catch(refuse)
      client = await connectWithin(pool, left())
    }
    return client
  }

  return {
    connect,
    async query<R extends pg.QueryResultRow>(
      query: string | pg.QueryConfig,
      values?: unknown[],
      patience = ENDLESS,
    ) {
      const client = await patience.connection(connect)
      let failure: Error | undefined
      try {
        const result = await patience.answer(client, client.query<R>(query, values))
        requireCurrent(client)
        return result
      } catch (error) {
        failure = markFailure(error as Error)
        throw error
      } finally {
        client.release(failure)
      }
    },
    requireCurrent,
    waiting: () => pool.waitingCount,
    async close() {
      unsubscribe()
      await pool.end()
    },
  }
}

function refuse(): never {
  throw new ServerRefused(
    'The connection leads to a different database server than the change listener.',
  )
}

/** Connects within `ms`. If a connection opens later, it goes back to the pool. @throws Error on timeout */
async function connectWithin(pool: pg.Pool, ms: number): Promise<pg.PoolClient> {
  const connecting = pool.connect()
  try {
    return await withDeadline(connecting, ms)
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => undefined,
    )
    throw error
  }
}
