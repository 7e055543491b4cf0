/** Advances sequences that are behind their table, and never moves one back. */
import { beforeAll, expect, it } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { type Bench, openBench } from './scene.ts'

const KEY = 'database.sequences'
let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)
const finding = (sequence: string) => ({
  tenant_id: null,
  subject: `sequence ${sequence}`,
  measured: {},
  expected: {},
})
const tenant = (id: string, name: string) =>
  `insert into tenants (${id && 'id, '}name, subdomain) values (${id && `${id}, `}'${name}', '${name}') returning id`

beforeAll(async () => {
  bench = await openBench()
})

it('the sequence fix checks every sequence, including those of partitioned tables', async () => {
  const [numbered] = await sql<{ count: number }>(
    `select count(*)::int as count from pg_attribute a join pg_class c on c.oid = a.attrelid
     where a.attidentity <> '' and not c.relispartition and c.relnamespace = 'public'::regnamespace`,
  )
  const { findings, looked_at } = await bench.look(KEY)
  expect(findings).toEqual([])
  expect(looked_at).toBe(numbered?.count)
  expect(looked_at).toBeGreaterThan(10)
})

it('the sequence fix advances a sequence that is too low to the highest number, also for a partitioned table', async () => {
  const last = `select last_value::int as last, is_called from`
  await sql(tenant('41', 'a'))
  await sql(`insert into journal (id, action, resource_type) values (77, 'user.created', 'user')`)
  const findings = await bench.mend(KEY, 'sequence tenants_id_seq', 'sequence journal_id_seq')
  expect(findings).toContainEqual({
    tenant_id: null,
    subject: 'sequence journal_id_seq',
    measured: { given: 0 },
    expected: { at_least: 77 },
  })
  expect(await sql(`${last} tenants_id_seq`)).toEqual([{ last: 41, is_called: true }])
  expect(await sql(`${last} journal_id_seq`)).toEqual([{ last: 77, is_called: true }])
  expect(await sql(tenant('', 'b'))).toEqual([{ id: 42 }])
})

it('the sequence fix does not lower a sequence that is high enough, even if a finding names the sequence', async () => {
  await sql('alter table tenants alter column id restart with 5000')
  expect((await bench.look(KEY)).findings).toEqual([])
  for (const sequence of ['tenants_id_seq', 'none', `tenants_id_seq', 1); drop table tenants; --`])
    expect(await bench.repair(KEY, finding(sequence))).toBe('already gone')
  expect(await sql(tenant('', 'c'))).toEqual([{ id: 5000 }])
})

it('the sequence fix waits for a concurrent insert, and includes its number', async () => {
  await sql('select setval($$tenants_id_seq$$, 10)')
  const inserting = ownerClient(bench.database.address)
  await inserting.connect()
  await inserting.query(`begin; ${tenant('6000', 'd')}`)
  const repair = bench.repair(KEY, finding('tenants_id_seq'))
  for (;;) {
    const waiting =
      await sql(`select from pg_locks where not granted and mode = 'ShareRowExclusiveLock'
      and relation = 'tenants'::regclass and ${OF_THIS_DATABASE}`)
    if (waiting.length > 0) break
  }
  await inserting.query('commit')
  await inserting.end()
  expect(await repair).toBe('repaired')
  expect(await sql(tenant('', 'e'))).toEqual([{ id: 6001 }])
})
