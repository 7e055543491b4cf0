/** A node keeps answering while a newer release adds columns to the tables that it reads. */
import { expect, test } from 'vitest'
import { openWalkable, walk } from '../contract/walk.ts'

const TABLES = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('public', 'pgboss') and c.relkind in ('r', 'p') and not c.relispartition
  order by 1`

test('every operation responds as before if each table has an additional column', {
  timeout: 60_000,
}, async () => {
  const walkable = await openWalkable()
  const { service } = walkable
  const { sql } = service.database
  // Makes the node prepare every statement once, while the tables are unchanged.
  const before = await walk(walkable)
  const tables = await sql<{ name: string }>(TABLES)
  expect(tables.length).toBeGreaterThan(15)
  for (const { name } of tables)
    await sql(`alter table ${name} add column of_a_newer_release text default 'new'`)
  const after = await walk(walkable, 'walked-again')
  const statuses = (steps: typeof before) => steps.map(({ name, answer }) => [name, answer.status])
  expect(statuses(after)).toEqual(statuses(before))
  expect(after.filter(({ answer }) => answer.status >= 500)).toEqual([])
  // No answer contains the column either, and no statement has to be prepared again. Self-healing reports the column,
  // because the schema version is unchanged and so no release has added it.
  const others = after.filter(({ name }) => !name.includes('/self-healing/'))
  expect(others.length).toBeGreaterThan(after.length - 10)
  expect(JSON.stringify(others)).not.toContain('of_a_newer_release')
  const said = service.logged.map(([, , message]) => message)
  expect(said).not.toContain('table definitions changed; connections replaced')
})
