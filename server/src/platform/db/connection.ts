/** Opens the service's connections with their role, types and limits. */
import pg from 'pg'
import { urlsOfHosts } from '../../lib/database-url.ts'
import type { SessionSettings } from './first-message.ts'
import { HostClient, hostsOf } from './hosts.ts'
import { wireTypes } from './types.ts'
import { AWAY_MS, VerifiedClient, type VerifiedClientConfig } from './verified-client.ts'

export type DatabaseAddress =
  | { url: string }
  | { host: string; port: number; user: string; database: string; password?: string }

/** The role of requests: sees one tenant's rows and owns nothing (decisions §2). */
export const APP_ROLE = 'wardkeep_app'
/** The role of work across tenants: sees all rows and owns nothing. */
export const PLATFORM_ROLE = 'wardkeep_platform'

/** Returns the options of all connections. Keeps `options` of the URL, but the first message takes precedence. */
function base(
  address: DatabaseAddress,
  settings: SessionSettings,
  acceptsReadOnly = false,
): VerifiedClientConfig {
  const common = {
    types: wireTypes,
    connectionTimeoutMillis: AWAY_MS,
    keepAlive: true,
    // The operating system's default is two hours.
    keepAliveInitialDelayMillis: 30_000,
    application_name: 'wardkeep',
    settings,
    acceptsReadOnly,
  }
  if (!('url' in address)) return { ...address, ...common }
  const [connectionString, ...others] = urlsOfHosts(address.url)
  return {
    connectionString,
    ...common,
    ...(others.length > 0 && {
      hosts: hostsOf(address, { urls: [connectionString, ...others], acceptsReadOnly }),
    }),
  }
}

/**
 * The client-side time limit of a query, longer than the server's, so that only an unresponsive connection reaches it.
 */
const SILENT_MS = 32_000
/** The client-side time limit of a query for jobs, whose messages contain several statements with a timeout each. */
const JOBS_SILENT_MS = 120_000

const LIMITS: SessionSettings = {
  // Must be the first setting. Until it is applied, a limit of a role or a URL would apply.
  statement_timeout: '30s',
  lock_timeout: '10s',
  idle_in_transaction_session_timeout: '1min',
  timezone: 'UTC',
  jit: 'off',
  // Suits memory and flash. With the default, a tenant's first page would scan the index of all tenants' ids.
  random_page_cost: '1.1',
}

/**
 * Settings of work without a time limit. Each connection sets them, because limits of a role or a URL would abort it.
 */
const UNLIMITED: SessionSettings = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

/** A single connection, for work outside the tenant scopes. */
export type PgConnection = pg.Client

/** Returns a connection as the owner of the tables, for migrations, backups and repairs. Survives a lost connection. */
export function ownerClient(address: DatabaseAddress): PgConnection {
  return new VerifiedClient(base(address, { ...UNLIMITED, timezone: 'UTC' }))
}

/** Returns a read-only connection as the owner, without time limits. It also accepts a standby. */
export function replicaClient(address: DatabaseAddress): PgConnection {
  const settings = { ...LIMITS, ...UNLIMITED, default_transaction_read_only: 'on' }
  return new VerifiedClient(base(address, settings, true))
}

/**
 * Returns a connection for LISTEN. A short lock timeout ends a NOTIFY that waits, so that heartbeats are not delayed.
 * Commits on this connection do not wait for a standby.
 */
export function listenerClient(address: DatabaseAddress): VerifiedClient {
  const settings: SessionSettings = {
    ...UNLIMITED,
    lock_timeout: '300ms',
    synchronous_commit: 'off',
    // Makes heartbeats find their few rows by index, even if the planner's statistics are outdated.
    enable_seqscan: 'off',
    role: APP_ROLE,
  }
  return new VerifiedClient(base(address, settings))
}

/** Returns a plain connection. It does not change the session's settings, and accepts any server at the address. */
export function plainClient(address: DatabaseAddress): pg.Client {
  const client = new HostClient({ ...base(address, {}), query_timeout: AWAY_MS })
  client.on('error', () => undefined)
  return client
}

/** Opens the pool for requests. Pipelined, so that opening a transaction costs no additional round trip. */
export function openPool(address: DatabaseAddress, size: number): pg.Pool {
  return verifiedPool({
    ...base(address, { ...LIMITS, role: APP_ROLE }),
    max: size,
    pipeline: true,
    query_timeout: SILENT_MS,
  })
}

/** Opens the small pool for background work across tenants. Values have the driver's default types. */
export function openWorkerPool(address: DatabaseAddress, size: number): pg.Pool {
  const { types: _, ...rest } = base(address, { ...LIMITS, role: PLATFORM_ROLE })
  return verifiedPool({ ...rest, max: size, query_timeout: JOBS_SILENT_MS })
}

/** Creates a pool of verified clients. It passes its options to each one, although the types do not declare this. */
const verifiedPool = (options: VerifiedClientConfig & pg.PoolConfig): pg.Pool =>
  new pg.Pool({
    ...options,
    Client: VerifiedClient,
    idleTimeoutMillis: 60_000,
  } as unknown as pg.PoolConfig)
