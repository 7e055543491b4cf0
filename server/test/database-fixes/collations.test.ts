/** A collation that has changed under the database is seen, and its indexes are built anew. */
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, inject, it } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { databaseOn } from '../support/database.ts'
import { scanAndConfirm } from '../support/fixes.ts'
import { silentLog, withDatabase } from '../support/server-address.ts'
import { openService } from '../support/service.ts'
import { type Bench, openBench } from './bench.ts'

const KEY = 'database.collations'
let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)

async function administer(text: string): Promise<void> {
  const client = ownerClient(withDatabase(inject('server'), null))
  await client.connect()
  await client.query(text).finally(() => client.end())
}

/** Its text is sorted by a library, as the templates' is not. */
beforeAll(async () => {
  const name = `wk_${randomBytes(6).toString('hex')}`
  await administer(`create database ${name} template template0 encoding 'UTF8'
    locale_provider icu icu_locale 'en' locale 'C'`)
  const address = withDatabase(inject('server'), name)
  const database = databaseOn(address, () =>
    administer(`drop database if exists ${name} with (force)`),
  )
  await migrate(address, silentLog)
  bench = await openBench(database)
  await sql(`create collation "Of clinics" (provider = icu, locale = 'de')`)
  await sql(`create index sorted on tenants (name collate "Of clinics")`)
})

/** The files of these indexes: built anew, each has another. */
const files = async (names: string): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await sql<{ name: string; file: number }>(
        `select relname as name, relfilenode::int as file from pg_class where relname in (${names})`,
      )
    ).map(({ name, file }) => [name, file]),
  )

it('nothing is seen while the versions are those that the indexes were built by', async () => {
  expect(await bench.look(KEY)).toEqual({ findings: [], looked_at: 1 })
})

it("the database's own is seen, what it sorts is built anew, and the version noted", async () => {
  const [before] = await sql<{ version: string }>(
    'select datcollversion as version from pg_database where datname = current_database()',
  )
  await sql(`update pg_database set datcollversion = '1.0' where datname = current_database()`)
  const names = `'users__by_email', 'users__search', 'users__sign_in', 'users_pkey'`
  const old = await files(names)
  const [finding] = await bench.mend(KEY, 'collation of the database')
  expect(finding).toMatchObject({
    measured: { version: before?.version, indexes: expect.any(Number) },
    expected: { version: '1.0' },
  })
  const anew = await files(names)
  // By bytes, and by number.
  for (const same of ['users__sign_in', 'users_pkey']) expect(anew[same], same).toBe(old[same])
  for (const other of ['users__by_email', 'users__search'])
    expect(anew[other], other).not.toBe(old[other])
  expect(await sql('select from pg_index where not indisvalid')).toEqual([])
})

it('one that an index names is seen, and one that nothing is sorted by is not', async () => {
  await sql(`update pg_collation set collversion = '1.0'
    where collname = 'Of clinics' or collname = 'fr-x-icu'`)
  const old = await files(`'sorted', 'users__by_email'`)
  await bench.mend(KEY, 'collation "Of clinics"')
  const anew = await files(`'sorted', 'users__by_email'`)
  expect(anew.users__by_email).toBe(old.users__by_email)
  expect(anew.sorted).not.toBe(old.sorted)
})

it('a scan proposes it, and it is built anew once that is confirmed', async () => {
  const service = await openService({ database: bench.database })
  await sql(`update pg_database set datcollversion = '1.0' where datname = current_database()`)
  const old = await files(`'users__by_email'`)
  expect(await scanAndConfirm(service, KEY)).toMatchObject([
    { tenant_id: null, subject: 'collation of the database' },
  ])
  expect(await files(`'users__by_email'`)).not.toEqual(old)
})

it('a finding that is gone or holds SQL does nothing', async () => {
  for (const subject of ['collation of the database', 'collation x; drop table users'])
    expect(await bench.repair(KEY, { tenant_id: null, subject, measured: {}, expected: {} })).toBe(
      'already gone',
    )
})
