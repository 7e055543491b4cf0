/** How the service's connections are opened: as whom, with which types, limits and role. */
import pg from 'pg'
import { wireTypes } from './types.ts'

/** Where the database is: a URL, or the parts of the embedded server. */
export type DatabaseAddress =
  | { url: string }
  | { host: string; port: number; user: string; database: string; password?: string }

/** The role that requests run as: sees one tenant's rows, owns nothing (decisions §2). */
export const APP_ROLE = 'wardkeep_app'
/** The role of work across tenants: sees all rows, owns nothing either. */
export const PLATFORM_ROLE = 'wardkeep_platform'

/**
 * Parameters of a URL that the driver would put in the place of what is set here: the name by which processes know each
 * other, limits, the size of pools.
 */
const OURS = [
  'application_name',
  'connectionTimeoutMillis',
  'keepAlive',
  'keepAliveInitialDelayMillis',
  'types',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'query_timeout',
  'pipeline',
  'max',
  'min',
  'idleTimeoutMillis',
  'client_encoding',
]

/** A server that hears nothing of a process for a minute takes it for dead, and lets go of its locks. */
const LIVENESS = ['tcp_keepalives_idle=30', 'tcp_keepalives_interval=10', 'tcp_keepalives_count=3']

/**
 * What all connections have in common. The driver would let an `options` parameter of the URL take
 * the place of ours, and with it of the role: it is taken out of there and put before them.
 */
function base(address: DatabaseAddress, settings: readonly string[]): pg.ClientConfig {
  const common = {
    types: wireTypes,
    connectionTimeoutMillis: AWAY_MS,
    keepAlive: true,
    // The system's own is two hours.
    keepAliveInitialDelayMillis: 30_000,
    application_name: 'wardkeep',
  }
  const ours = [...LIVENESS, ...settings].map((setting) => `-c ${setting}`).join(' ')
  if (!('url' in address)) return { ...address, ...common, options: ours }
  const url = new URL(address.url)
  const theirs = url.searchParams.get('options')
  for (const name of ['options', ...OURS]) url.searchParams.delete(name)
  const options = theirs ? `${theirs} ${ours}` : ours
  return { connectionString: url.href, ...common, options }
}

/** A database that does not open a connection or a transaction within this time is away. */
export const AWAY_MS = 5_000

/** Above the server's own limit of a statement: only a connection that has gone silent runs into it. */
const SILENT_MS = 32_000
/** Jobs send several statements as one, and each has the server's limit to itself. */
const JOBS_SILENT_MS = 120_000

/** What holds for every connection that works for requests or jobs. */
const LIMITS = [
  'timezone=UTC',
  'statement_timeout=30s',
  'lock_timeout=10s',
  'idle_in_transaction_session_timeout=60s',
  'jit=off',
  // Pages lie in memory or on flash. At the default, made for turning disks, the first page of a clinic that
  // is one of a few is read along the ids of all, past the users of those before it.
  'random_page_cost=1.1',
]

/**
 * What holds where work takes as long as it takes. Said at each connection: a role, a database and a URL may have
 * limits too, made for other programs, and a migration or a backup would end by them.
 */
const UNLIMITED = ['statement_timeout=0', 'lock_timeout=0', 'idle_in_transaction_session_timeout=0']

/** One connection, for work that no scope has. */
export type Connection = pg.Client

/**
 * A connection as the owner of the tables: migrations, backups and repairs only. One that is lost does not
 * end the process: what is asked of it next says so.
 */
export function ownerClient(address: DatabaseAddress): Connection {
  const client = new pg.Client(base(address, ['timezone=UTC', ...UNLIMITED]))
  client.on('error', () => undefined)
  return client
}

/**
 * A connection of its own for LISTEN, as the application. A NOTIFY on it gives way where others hold
 * the lock for long: its signs of life must not wait behind one.
 */
export function listenerClient(address: DatabaseAddress): pg.Client {
  return new pg.Client(base(address, [`role=${APP_ROLE}`, ...UNLIMITED, 'lock_timeout=300ms']))
}

/** Closes a connection immediately. Pending queries on it fail. */
export function hangUp(client: pg.Client | pg.PoolClient): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } }
  connection.stream.destroy()
}

/**
 * The pool of requests. Statements are pipelined, so that opening a transaction costs no round
 * trip of its own.
 */
export function openPool(address: DatabaseAddress, size: number): pg.Pool {
  return new pg.Pool({
    ...base(address, [`role=${APP_ROLE}`, ...LIMITS]),
    max: size,
    idleTimeoutMillis: 60_000,
    pipeline: true,
    query_timeout: SILENT_MS,
  } as pg.PoolConfig)
}

/** The small pool of background work, across tenants. Its rows keep the driver's own types. */
export function openWorkerPool(address: DatabaseAddress, size: number): pg.Pool {
  const { types: _, ...rest } = base(address, [`role=${PLATFORM_ROLE}`, ...LIMITS])
  return new pg.Pool({
    ...rest,
    max: size,
    idleTimeoutMillis: 60_000,
    query_timeout: JOBS_SILENT_MS,
  })
}
