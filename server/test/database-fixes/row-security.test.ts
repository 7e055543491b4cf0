/** Finds and repairs tables and partitions without forced row-level security. */
import { beforeAll, expect, it } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { type Bench, openBench } from './scene.ts'

const KEY = 'database.row_security'
let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)

beforeAll(async () => {
  bench = await openBench()
})

const OPEN = `
  select relname as name from pg_class where relname in ('patients', 'users') and not (relrowsecurity and relforcerowsecurity)
  union all
  select inhrelid::regclass::text from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = 'journal'::regclass and not (relrowsecurity and relforcerowsecurity)`

it('the row-level security fix enables and forces row-level security on tables and partitions', async () => {
  const [part] = await sql<{ name: string }>(
    `select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'journal'::regclass`,
  )
  await sql(`alter table patients disable row level security; alter table users no force row level security;
    alter table ${part?.name} no force row level security`)
  expect(await sql(OPEN)).toHaveLength(3)
  // The schema fix does not report these findings, because the row security fix repairs them.
  await bench.differ()
  const findings = await bench.mend(
    KEY,
    'row security of patients',
    'row security of users',
    `row security of ${part?.name}`,
  )
  expect(findings).toContainEqual({
    tenant_id: null,
    subject: 'row security of users',
    measured: { enabled: true, forced: false },
    expected: { enabled: true, forced: true },
  })
  expect(await sql(OPEN)).toEqual([])
})

it('the row-level security fix does nothing for a finding that is already repaired, unknown or contains SQL', async () => {
  for (const subject of ['row security of patients', 'row security of x; drop table patients; --'])
    expect(await bench.repair(KEY, { tenant_id: null, subject, measured: {}, expected: {} })).toBe(
      'already gone',
    )
})

it('the row-level security fix does not wait for another repair or a migration', async () => {
  const other = ownerClient(bench.database.address)
  await other.connect()
  const finding = { tenant_id: null, subject: 'row security of users', measured: {}, expected: {} }
  await other.query('select pg_advisory_lock(7261949)')
  await expect(bench.repair(KEY, finding)).rejects.toThrow('another database repair')
  await other.query('select pg_advisory_unlock(7261949), pg_advisory_lock(7261935)')
  await expect(bench.repair(KEY, finding)).rejects.toThrow('lock timeout')
  await other.end()
  expect(await bench.repair(KEY, finding)).toBe('already gone')
})

it('the row-level security fix fails if the table is locked, and leaves the table unchanged', async () => {
  await sql('alter table users no force row level security')
  const reader = ownerClient(bench.database.address)
  await reader.connect()
  await reader.query('begin; select from users limit 1')
  const [finding] = (await bench.look(KEY)).findings
  if (!finding) throw new Error('nothing is found')
  await expect(bench.repair(KEY, finding)).rejects.toThrow('lock timeout')
  await reader.end()
  await bench.mend(KEY, 'row security of users')
})

it('the row-level security fix changes nothing in the schema of another release', async () => {
  await sql(`insert into migrations (version, name, checksum) values (9999, 'of a newer node', '');
    alter table users no force row level security`)
  for (const { key } of bench.fixes) {
    const { findings, looked_at } = await bench.look(key)
    expect({ findings, looked_at }, key).toEqual({ findings: [], looked_at: 0 })
  }
  const finding = { tenant_id: null, subject: 'row security of users', measured: {}, expected: {} }
  await expect(bench.repair(KEY, finding)).rejects.toThrow('a different release')
  await sql('delete from migrations where version = 9999')
  await bench.mend(KEY, 'row security of users')
})
