/** Creates databases for tests. Each test file gets its own databases, which are removed at its end. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import type { DatabaseAddress } from '../../src/platform/db/index.ts'
import { wireTypes } from '../../src/platform/db/types.ts'
import { atTheEnd } from './cleanup.ts'
import type { GoldenPeople } from './people.ts'
import { withDatabase } from './server-address.ts'

export interface TestDatabase {
  address: DatabaseAddress
  /** The database URL, for clients that accept a URL. */
  url: string
  /** The users of a copy of the golden template. */
  people?: GoldenPeople
  /** Runs SQL as the owner of the server. Row-level security does not apply. */
  sql<T extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<T[]>
  close(): Promise<void>
}

/**
 * A condition that restricts pg_locks to this test database. The view covers all databases of the server, which test
 * files share.
 */
export const OF_THIS_DATABASE =
  'database = (select oid from pg_database where datname = current_database())'

/** Returns a copy of the golden template: a database on which the service was opened, with two clinics. */
export async function goldenDatabase(): Promise<TestDatabase> {
  const { template, ...people } = inject('golden')
  return { ...(await makeDatabase(template)), people: structuredClone(people) }
}

/** Returns a database with all migrations applied, for tests of a first start. */
export const migratedDatabase = (): Promise<TestDatabase> => makeDatabase(inject('template'))

/** Returns an empty database. */
export const emptyDatabase = (): Promise<TestDatabase> => makeDatabase('template0')

/** Returns a copy of a database as it is now, like a restored snapshot. Ends the connections to the original. */
export async function copyOf(database: TestDatabase): Promise<TestDatabase> {
  const [{ name = '' } = {}] = await database.sql<{ name: string }>(
    'select current_database() as name',
  )
  await administer(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  )
  return makeDatabase(name)
}

async function makeDatabase(template: string): Promise<TestDatabase> {
  const server = inject('server')
  const name = `wk_${randomBytes(6).toString('hex')}`
  await administer(`create database ${name} template ${template} strategy ${inject('copies')}`)
  return databaseOn(withDatabase(server, name), () =>
    administer(`drop database if exists ${name} with (force)`),
  )
}

/** Wraps an existing database, such as that of an embedded server of the test. */
export function databaseOn(
  address: DatabaseAddress,
  drop: () => Promise<void> = async () => undefined,
): TestDatabase {
  const owner = new pg.Pool({ ...address, types: wireTypes, max: 2 })
  owner.on('error', () => undefined)
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await owner.end()
    await drop()
  }
  atTheEnd(close)
  return {
    address,
    url: urlOf(address),
    sql: async (text, values) => (await owner.query(text, values)).rows,
    close,
  }
}

/** Returns a pool that ends with the test. Its connections may end later, when their database is dropped. */
export function endingPool(pool: pg.Pool): pg.Pool {
  pool.on('error', () => undefined)
  atTheEnd(() => pool.end())
  return pool
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client(withDatabase(inject('server'), null))
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

function urlOf(address: DatabaseAddress): string {
  if ('url' in address) return address.url
  const { host, port, user, database, password } = address
  const secret = password ? `:${password}` : ''
  return `postgres://${user}${secret}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}
