/** Every table declares how a restore treats it. The test fails if a new table has no declaration. */
import { beforeAll, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'

let service: Service
beforeAll(async () => {
  service = await openService()
})

const tables = () =>
  service.database.sql<{ name: string; isolated: boolean }>(
    `select c.relname as name, exists (select from pg_policy p
       where p.polrelid = c.oid and p.polname = 'tenant') as isolated
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition order by 1`,
  )

test('the database catalogue and the table rules of backups name the same tables', async () => {
  const there = (await tables()).map(({ name }) => name)
  expect(Object.keys(service.app.tables).sort()).toEqual(there)
})

test('the platform role can read every table of a full backup', async () => {
  const inBackup = Object.entries(service.app.tables)
    .filter(([, rule]) => ['restored', 'merged', 'kept'].includes(rule))
    .map(([name]) => name)
  const rows = await service.database.sql<{ name: string }>(
    `select name from unnest($1::text[]) as tables (name)
     where not has_table_privilege('wardkeep_platform', name, 'select')`,
    [inBackup],
  )
  expect(rows).toEqual([])
})

test('the rules declare each column of a restored table as either data or access', async () => {
  const rows = await service.database.sql<{ name: string; columns: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attname::text) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' group by 1`,
  )
  const there = rows
    .filter(({ name }) => ['restored', 'merged'].includes(service.app.tables[name] ?? ''))
    .map(({ name, columns }) => [name, columns])
  const declared = Object.entries(service.app.columns).map(([name, { data, access = {} }]) => [
    name,
    [...data, ...Object.keys(access)].sort(),
  ])
  expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(there))
})

test('the rules name only existing columns', () => {
  for (const [name, rules] of Object.entries(service.app.columns)) {
    const { data, access = {}, spent = {}, deletedAt, parked, owner } = rules
    const known = [...data, ...Object.keys(access)]
    const named = [...Object.keys(spent), deletedAt, parked?.column, owner?.column]
    expect([name, named.filter((one) => one !== undefined && !known.includes(one))]).toEqual([
      name,
      [],
    ])
  }
})
