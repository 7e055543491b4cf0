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

function base(address: DatabaseAddress): pg.ClientConfig {
  return {
    ...('url' in address ? { connectionString: address.url } : address),
    types: wireTypes,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    application_name: 'wardkeep',
  }
}

/** A connection as the owner of the tables: migrations and upkeep only. */
export function ownerClient(address: DatabaseAddress): pg.Client {
  return new pg.Client({ ...base(address), options: '-c timezone=UTC' })
}

/** A connection of its own for LISTEN, as the application. */
export function listenerClient(address: DatabaseAddress): pg.Client {
  return new pg.Client({ ...base(address), options: `-c role=${APP_ROLE}` })
}

/**
 * The pool of requests. Statements are pipelined, so that opening a transaction costs no round
 * trip of its own.
 */
export function openPool(address: DatabaseAddress, size: number): pg.Pool {
  return new pg.Pool({
    ...base(address),
    max: size,
    idleTimeoutMillis: 60_000,
    pipeline: true,
    // Above the server's own limit: only a connection that has gone silent runs into it.
    query_timeout: 32_000,
    options: [
      `-c role=${APP_ROLE}`,
      '-c timezone=UTC',
      '-c statement_timeout=30s',
      '-c lock_timeout=10s',
      '-c idle_in_transaction_session_timeout=60s',
      '-c jit=off',
    ].join(' '),
  } as pg.PoolConfig)
}

/** The small pool of background work, across tenants. Its rows keep the driver's own types. */
export function openWorkerPool(address: DatabaseAddress, size: number): pg.Pool {
  const { types: _, ...rest } = base(address)
  return new pg.Pool({
    ...rest,
    max: size,
    idleTimeoutMillis: 60_000,
    options: [
      `-c role=${PLATFORM_ROLE}`,
      '-c timezone=UTC',
      '-c statement_timeout=30s',
      '-c lock_timeout=10s',
      '-c idle_in_transaction_session_timeout=60s',
      '-c jit=off',
    ].join(' '),
  })
}
