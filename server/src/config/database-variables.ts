import { requireSupported } from '../lib/database-url.ts'
import { integer, variable } from './variable.ts'

export const DATABASE_VARIABLES = {
  DATABASE_URL: variable({
    meaning:
      'PostgreSQL 15 or newer, `postgres://user:password@host:port/database`. Several hosts are separated by commas, as `one:5432,two:5432`.',
    default: 'an embedded PostgreSQL 18 in DATA_DIR',
    read: (text) => (text === undefined ? undefined : postgresUrl(text)),
  }),
  DATABASE_READ_URL: variable({
    meaning:
      'URL of a replica from which backups and exports of the audit log read. If the replica cannot be used, they read from DATABASE_URL.',
    default: 'none',
    read: (text) => (text === undefined ? undefined : postgresUrl(text)),
  }),
  DATABASE_WAIT_SECONDS: variable({
    meaning:
      'Seconds that the start waits for a database that can write. With 0 the start fails immediately.',
    default: '60',
    read: integer(60, 0, 3_600),
  }),
  DATABASE_POOL_SIZE: variable({
    meaning:
      'Maximum connections per process for requests. Sign-in, jobs and other background work open up to 21 more.',
    default: '10',
    read: integer(10, 1, 500),
  }),
  SESSION_CACHE_MAX: variable({
    meaning:
      'Session states that one process keeps in memory. Others are read from the database for each request.',
    default: '20000',
    read: integer(20_000, 0, 10_000_000),
  }),
}

function postgresUrl(text: string): string {
  requireSupported(text)
  return text
}
