/** Tests migrations. Each runs once, completely or not at all, and never on a newer or changed schema. */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { CHECKSUMS, checksumLine } from '../../../../scripts/generate/checksums.ts'
import { emptyDatabase, migratedDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { movableClock } from '../../../test/support/time.ts'
import { until } from '../../../test/support/until.ts'
import { StartupError } from '../../lib/startup-error.ts'
import { ownerClient } from '../db/connection.ts'
import { LOCKS } from '../db/lock-numbers.ts'
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

describe('the migration runner', () => {
  test('applies each migration once, in order, during concurrent starts', async () => {
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

  test('waits for another process without a time limit, and logs the address and age of that process every 10 s', async () => {
    const database = await emptyDatabase()
    const holder = ownerClient(database.address)
    await holder.connect()
    await holder.query('select pg_advisory_lock($1)', [LOCKS.migrations])
    const { rows } = await holder.query('select pg_backend_pid() as pid')
    const clock = movableClock()
    const lines: object[] = []
    const log = { ...silentLog, warn: (fields: object) => void lines.push(fields) }
    const migrating = migrate(database.address, log as typeof silentLog, [ONE], clock)
    await until('it waits', async () => clock.repeating() === 1 || undefined)
    for (const times of [1, 2]) {
      clock.elapse(10_000)
      await until('the log names the holder', async () => lines.length === times || undefined)
    }
    expect(lines[1]).toEqual({
      holder: {
        pid: rows[0].pid,
        application_name: 'wardkeep',
        address: expect.any(String),
        connected_s: expect.any(Number),
        transaction_s: null,
      },
    })
    await holder.end()
    expect(await migrating).toBe(1)
    expect(clock.repeating()).toBe(0)
  })

  test('finds migrations that are numbered from 1 without a gap', async () => {
    const versions = (await readMigrations()).map(({ version }) => version)
    expect(versions).toEqual(versions.map((_, index) => index + 1))
  })

  test('finds committed migrations unchanged, because every change needs a new file', async () => {
    const lines = (await readMigrations()).map(checksumLine)
    expect(await readFile(CHECKSUMS, 'utf8')).toBe(lines.join(''))
  })

  test('skips applied migrations and applies only the missing ones', async () => {
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

  test('rolls a failed migration back and keeps the earlier migrations', async () => {
    const database = await emptyDatabase()
    const broken = step(2, 'create table two (id integer); insert into nowhere values (1)')
    await expect(migrate(database.address, silentLog, [ONE, broken])).rejects.toThrow(
      /^migration 0002_step.sql failed: relation "nowhere" does not exist$/,
    )
    expect(await database.sql(tables)).toEqual([{ name: 'migrations' }, { name: 'one' }])
    expect(await database.sql('select version from migrations')).toEqual([{ version: 1 }])
    // The failed startup has released the lock, so the next startup with a corrected migration succeeds.
    expect(await migrate(database.address, silentLog, [ONE, TWO])).toBe(2)
  })
})

describe('the version check', () => {
  const refusal = async (database: Awaited<ReturnType<typeof emptyDatabase>>) => {
    const error = await migrate(database.address, silentLog).catch((thrown: unknown) => thrown)
    if (!(error instanceof StartupError)) throw new Error('not refused', { cause: error })
    return error.lines
  }

  test('refuses the database of a newer release, and names both versions', async () => {
    const database = await migratedDatabase()
    await database.sql(
      `insert into migrations (version, name, checksum) values (9999, 'later', 'x')`,
    )
    expect(await refusal(database)).toEqual([
      expect.stringMatching(
        /has schema version 9999, but this release only supports up to \d+\. Start the newer release/,
      ),
    ])
  })

  test('refuses a database in which a migration had different content, and names the migration', async () => {
    const database = await migratedDatabase()
    await database.sql(`update migrations set checksum = 'other' where version = 2`)
    expect(await refusal(database)).toEqual([
      expect.stringMatching(/^Migration 0002_tenants\.sql /),
    ])
  })

  test('refuses a database that lacks a migration between others', async () => {
    const database = await migratedDatabase()
    await database.sql('delete from migrations where version = 1')
    expect(await refusal(database)).toEqual([
      expect.stringMatching(/^Migration 0002_tenants\.sql /),
    ])
  })
})
