/** Migrations: once each whoever starts, never on a newer or a changed schema, and whole or not at all. */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { CHECKSUMS, checksumLine } from '../../../../scripts/generate/checksums.ts'
import { emptyDatabase, migratedDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { StartupError } from '../../lib/startup-error.ts'
import { migrate, readMigrations } from './migrate.ts'

const step = (version: number, sql: string) => ({
  version,
  name: `${String(version).padStart(4, '0')}_step.sql`,
  sql,
  checksum: `checksum of ${sql}`,
})

const ONE = step(1, 'create table one (id integer)')
const TWO = step(2, 'create table two (id integer)')

const tables = `select table_name as name from information_schema.tables
  where table_schema = 'public' order by table_name`

describe('migrations', () => {
  test('run once each, in order, under starts at the same moment', async () => {
    const database = await emptyDatabase()
    const wanted = await readMigrations()
    const versions = await Promise.all(
      Array.from({ length: 6 }, () => migrate(database.address, silentLog)),
    )
    expect(new Set(versions)).toEqual(new Set([wanted.at(-1)?.version]))
    expect(
      await database.sql('select version, checksum from migrations order by applied_at, version'),
    ).toEqual(wanted.map(({ version, checksum }) => ({ version, checksum })))
  })

  test('are numbered from 1 without a gap', async () => {
    const versions = (await readMigrations()).map(({ version }) => version)
    expect(versions).toEqual(versions.map((_, index) => index + 1))
  })

  test('never change once they are committed: every change is a new file', async () => {
    const lines = (await readMigrations()).map(checksumLine)
    expect(await readFile(CHECKSUMS, 'utf8')).toBe(lines.join(''))
  })

  test('that are already there are left alone, and only what is missing is added', async () => {
    const database = await emptyDatabase()
    expect(await migrate(database.address, silentLog, [ONE])).toBe(1)
    await database.sql('insert into one values (7)')
    expect(await migrate(database.address, silentLog, [ONE, TWO])).toBe(2)
    expect(await migrate(database.address, silentLog, [ONE, TWO])).toBe(2)
    expect(await database.sql('select id from one')).toEqual([{ id: 7 }])
    expect(await database.sql(tables)).toEqual([
      { name: 'migrations' },
      { name: 'one' },
      { name: 'two' },
    ])
  })

  test('that fail leave nothing of themselves, and what came before stays', async () => {
    const database = await emptyDatabase()
    const broken = step(2, 'create table two (id integer); insert into nowhere values (1)')
    await expect(migrate(database.address, silentLog, [ONE, broken])).rejects.toThrow(
      /^migration 0002_step.sql failed: relation "nowhere" does not exist$/,
    )
    expect(await database.sql(tables)).toEqual([{ name: 'migrations' }, { name: 'one' }])
    expect(await database.sql('select version from migrations')).toEqual([{ version: 1 }])
    // The lock went with the failed start: the next one, repaired, goes through.
    expect(await migrate(database.address, silentLog, [ONE, TWO])).toBe(2)
  })
})

describe('a database', () => {
  const refusal = async (database: Awaited<ReturnType<typeof emptyDatabase>>) => {
    const error = await migrate(database.address, silentLog).catch((thrown: unknown) => thrown)
    if (!(error instanceof StartupError)) throw new Error('not refused', { cause: error })
    return error.lines
  }

  test('of a newer release is refused, with both versions named', async () => {
    const database = await migratedDatabase()
    await database.sql(
      `insert into migrations (version, name, checksum) values (9999, 'later', 'x')`,
    )
    expect(await refusal(database)).toEqual([
      expect.stringMatching(/has schema 9999, this release knows \d+: start the newer release/),
    ])
  })

  test('whose migration had other content is refused, with that one named', async () => {
    const database = await migratedDatabase()
    await database.sql(`update migrations set checksum = 'other' where version = 2`)
    expect(await refusal(database)).toEqual([
      expect.stringMatching(/^Migration 0002_tenants\.sql /),
    ])
  })

  test('with a migration missing in between is refused', async () => {
    const database = await migratedDatabase()
    await database.sql('delete from migrations where version = 1')
    expect(await refusal(database)).toEqual([
      expect.stringMatching(/^Migration 0002_tenants\.sql /),
    ])
  })
})
