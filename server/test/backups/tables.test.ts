/** Every table says what a restore does with it, so that a later one can't be forgotten. */
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

test('the catalogue and the rules name the same tables', async () => {
  const there = (await tables()).map(({ name }) => name)
  expect(Object.keys(service.app.tables).sort()).toEqual(there)
})

test('what is in a backup of everything can be read for it by the role that sees all', async () => {
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
