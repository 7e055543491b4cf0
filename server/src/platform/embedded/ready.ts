/** Checks whether the server accepts connections, and creates the service's database if it is missing. */
import pg from 'pg'
import { OWNER } from './cluster.ts'
import type { Door } from './endpoint.ts'

export const DATABASE = 'wardkeep'

const STARTING_OR_STOPPING = /^57P0/
const NO_SUCH_DATABASE = '3D000'

/** Returns whether a client can connect, or false while the server is starting or stopping. @throws any other error */
export async function isReady(endpoint: Door): Promise<boolean> {
  try {
    await connected(endpoint, DATABASE, async () => undefined)
    return true
  } catch (error) {
    // The server is still starting if there is no socket yet, or the connection is refused or cut off.
    if (!(error instanceof pg.DatabaseError) || STARTING_OR_STOPPING.test(error.code ?? ''))
      return false
    if (error.code !== NO_SUCH_DATABASE) throw error
    await connected(
      endpoint,
      'postgres',
      async (client) => void (await client.query(`CREATE DATABASE ${DATABASE}`)),
    )
    return true
  }
}

async function connected(
  endpoint: Door,
  database: string,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const { host, port, password } = endpoint
  const client = new pg.Client({
    host,
    port,
    user: OWNER,
    database,
    ...(password ? { password } : {}),
    connectionTimeoutMillis: 5000,
  })
  // Ignores the event, because a lost connection also fails the pending call.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}
