/** Tests that a journal entry is written together with its change, and never changed afterwards. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { scopesOf } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import { append, journalEntry, SYSTEM } from './append.ts'
import { ensurePartitions } from './partitions.ts'

let database: TestDatabase
let db: Scopes

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

const write = (tx: TenantTx, word: string, tenantId: number | null = null) =>
  append(tx, SYSTEM, {
    action: 'tenant.updated',
    tenant_id: tenantId,
    resource_type: 'word',
    resource_id: word,
  })
const entriesOf = (word: string) =>
  database.sql('select * from journal where resource_id = $1', [word])

describe('a journal entry', () => {
  test('exists as soon as the transaction of its change commits', async () => {
    await db.acrossTenants((tx) => write(tx, 'committed'))
    expect(await entriesOf('committed')).toHaveLength(1)
  })

  test('is rolled back together with its change', async () => {
    const change = db.acrossTenants(async (tx) => {
      await write(tx, 'rolled-back')
      throw new Error('on purpose')
    })
    await expect(change).rejects.toThrow('on purpose')
    expect(await entriesOf('rolled-back')).toEqual([])
  })

  test('is rolled back with a change that the database rejects', async () => {
    const change = db.acrossTenants(async (tx) => {
      await write(tx, 'refused')
      await sql`insert into tenants (name, subdomain) values ('A', 'same'), ('B', 'same')`.execute(
        tx.db,
      )
    })
    await expect(change).rejects.toMatchObject({ constraint: 'tenants__subdomain' })
    expect(await entriesOf('refused')).toEqual([])
  })

  test('cannot be written for another tenant in a transaction of a tenant', async () => {
    await expect(db.inTenant(5, (tx) => write(tx, 'foreign', 6))).rejects.toMatchObject({
      code: '42501',
    })
    expect(await entriesOf('foreign')).toEqual([])
  })

  test.each(['update journal set action = $1', 'delete from journal where action <> $1'])(
    'cannot be changed, even by the owner of the table: "%s"',
    async (statement) => {
      await db.acrossTenants((tx) => write(tx, 'stands'))
      await expect(database.sql(statement, ['x'])).rejects.toThrow('append-only')
      expect(await entriesOf('stands')).not.toEqual([])
    },
  )

  test('cannot be truncated, neither in the whole table nor in one month', async () => {
    const parts = await database.sql<{ part: string }>(
      `select inhrelid::regclass::text as part from pg_inherits where inhparent = 'journal'::regclass`,
    )
    for (const table of ['journal', ...parts.map(({ part }) => part)])
      await expect(database.sql(`truncate ${table}`), table).rejects.toThrow('append-only')
  })
})

/** Lists the monthly partitions of both journal tables. */
const parts = () =>
  database.sql<{ part: string }>(
    `select inhrelid::regclass::text as part from pg_inherits
     where inhparent in ('journal'::regclass, 'journal_resources'::regclass) order by 1`,
  )

test('the migrations create the first three months of both journal tables', async () => {
  const template = await migratedDatabase()
  const made = await template.sql(
    `select inhparent::regclass::text as of, count(*)::int as count from pg_inherits
     where inhparent in ('journal'::regclass, 'journal_resources'::regclass) group by 1 order by 1`,
  )
  expect(made).toEqual([
    { of: 'journal', count: 3 },
    { of: 'journal_resources', count: 3 },
  ])
})

// The template database may have been migrated in an earlier month, and a new month may begin during the test.
describe.each(['journal', 'journal_resources'])('the monthly partitions of %s', (table) => {
  const months = () =>
    database.sql<{ part: string }>(
      `select inhrelid::regclass::text as part from pg_inherits
       where inhparent = $1::regclass order by 1`,
      [table],
    )
  const thisAndNextTwo = () =>
    database.sql<{ part: string }>(
      `select $1 || to_char(
         date_trunc('month', now() at time zone 'UTC') + make_interval(months => ahead), '_YYYY_MM') as part
       from generate_series(0, 2) as ahead`,
      [table],
    )
  /** Drops the partition of the latest month. Returns its name, and the remaining months. */
  const dropLast = async () => {
    const last = (await months()).at(-1)
    await database.sql(`drop table ${last?.part}`)
    return { last, left: await parts() }
  }

  test('include the current month and the next two months', async () => {
    const before = await thisAndNextTwo()
    await ensurePartitions(db)
    expect([before, await thisAndNextTwo()]).toContainEqual((await months()).slice(-3))
  })

  test('are created again if one is missing, with the same protection as the others', async () => {
    const { last, left } = await dropLast()
    const made = await ensurePartitions(db)
    expect(made).toBe((await parts()).length - left.length)
    expect(await months()).toContainEqual(last)
    const [security] = await database.sql(
      'select relrowsecurity, relforcerowsecurity from pg_class where oid = $1::regclass',
      [last?.part],
    )
    expect(security).toEqual({ relrowsecurity: true, relforcerowsecurity: true })
    await expect(database.sql(`truncate ${last?.part}`)).rejects.toThrow('append-only')
  })

  test('are created only once if many nodes create them concurrently', async () => {
    const { last, left } = await dropLast()
    const made = await Promise.all(Array.from({ length: 8 }, () => ensurePartitions(db)))
    expect(made.reduce((sum, count) => sum + count, 0)).toBe((await parts()).length - left.length)
    expect(await months()).toContainEqual(last)
  })
})

test('builds an entry with the id and tenant of the row, and no other columns', () => {
  const row = { id: 7, tenant_id: 3, name: 'Cardiology' }
  expect(journalEntry('department.created', 'department', row)).toEqual({
    action: 'department.created',
    tenant_id: 3,
    resource_type: 'department',
    resource_id: 7,
  })
})
