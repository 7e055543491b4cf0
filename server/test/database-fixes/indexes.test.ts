/** Rebuilds missing or invalid indexes while others read and write. */
import { beforeAll, expect, it } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { openTransaction, waitingBuild } from './index-builds.ts'
import { type Bench, openBench } from './scene.ts'

const KEY = 'database.indexes'
let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)
const entry = `insert into journal (action, resource_type) values ('user.created', 'user')`

beforeAll(async () => {
  bench = await openBench()
  await sql(`insert into tenants (id, name, subdomain) values (1, 'A', 'a');
    insert into users (tenant_id, email, full_name, role, password_hash)
      values (1, 'a@a.example', 'A', 'nurse', ''), (1, 'b@a.example', 'B', 'nurse', '')`)
  await sql(entry)
})

/** Returns all indexes, whether they are valid, and the index to which each is attached. */
const state = () =>
  sql<{ name: string }>(`
    select c.relname as name, i.indisvalid as valid, i.indisunique, up.inhparent::regclass::text as parent,
      pg_get_indexdef(c.oid) as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid left join pg_inherits up on up.inhrelid = c.oid
    where c.relnamespace = 'public'::regnamespace order by 1`)

/** Returns the state of the index on each partition, because its name differs there. */
const attached = async (index: string) =>
  sql(`select i.indrelid::regclass::text as part, i.indisvalid as valid from pg_inherits up
    join pg_index i on i.indexrelid = up.inhrelid where up.inhparent = '${index}'::regclass order by 1`)

it('the index fix builds missing and invalid indexes, drops remains of failed builds, and changes nothing else', async () => {
  const before = await state()
  await sql(`drop index users__by_name; drop index pgboss.warning_i1; drop index departments__head`)
  await expect(
    sql('create unique index concurrently "Left over" on users (role)'),
  ).rejects.toThrow()
  await sql(`update pg_index set indisvalid = false
    where indexrelid in ('users__search'::regclass, 'tenants_pkey'::regclass)`)
  const findings = await bench.mend(
    KEY,
    'index users__by_name on users',
    'index warning_i1 on pgboss.warning',
    'index departments__head on departments',
    'index "Left over" on users',
    'index users__search on users',
    'index tenants_pkey on tenants',
  )
  expect(findings).toContainEqual({
    tenant_id: null,
    subject: 'index users__by_name on users',
    measured: { state: 'missing' },
    expected: {
      statement: 'CREATE INDEX users__by_name ON users USING btree (tenant_id, name_key, id);',
    },
  })
  expect(findings.map(({ measured }) => measured.state).toSorted()).toEqual([
    ...['invalid', 'invalid', 'invalid', 'missing', 'missing', 'missing'],
  ])
  expect(await state()).toEqual(before)
  await bench.differ()
})

it.each([
  ['missing', 'journal__by_time', 'drop index journal__by_time', 'missing'],
  [
    'missing on its partitions',
    'webhook_deliveries__due',
    `drop index webhook_deliveries__due; create index webhook_deliveries__due
      on only webhook_deliveries (webhook_id, due_at) where status = 'pending'`,
    'invalid',
  ],
])(
  'the index fix builds a partitioned index that is %s on each partition',
  async (_, index, fault, what) => {
    const before = await attached(index)
    await sql(fault)
    const table = index.split('__')[0]
    const [finding] = await bench.mend(KEY, `index ${index} on ${table}`)
    expect(finding?.measured).toEqual({ state: what })
    expect(before.length).toBeGreaterThan(1)
    expect(await attached(index)).toEqual(before)
    expect(
      await sql(`select indisvalid from pg_index where indexrelid = '${index}'::regclass`),
    ).toEqual([{ indisvalid: true }])
    await bench.differ()
  },
)

it('the index fix rebuilds an invalid part of a partitioned index', async () => {
  const [part] = await sql<{ name: string; partition: string }>(
    `select inhrelid::regclass::text as name, indrelid::regclass::text as partition
     from pg_inherits join pg_index on indexrelid = inhrelid
     where inhparent = 'journal__positions'::regclass order by 1 limit 1`,
  )
  const before = await attached('journal__positions')
  await sql(`update pg_index set indisvalid = false where indexrelid = '${part?.name}'::regclass`)
  await bench.mend(KEY, `index ${part?.name} on ${part?.partition}`)
  expect(await attached('journal__positions')).toEqual(before)
})

it('other transactions can write to the journal while the index fix waits for an open transaction', async () => {
  await sql('drop index journal__by_user')
  const [finding] = (await bench.look(KEY)).findings
  if (!finding) throw new Error('nothing is seen')
  const open = await openTransaction(bench)
  const repair = bench.repair(KEY, finding)
  const pid = await waitingBuild(bench)
  await sql(entry)
  await sql(`begin; ${entry}; ${entry}; commit`)
  // The writes have completed, and the build still waits.
  expect(await waitingBuild(bench)).toBe(pid)
  await open.end()
  expect(await repair).toBe('repaired')
  expect((await bench.look(KEY)).findings).toEqual([])
})

it('the index fix rebuilds an invalid index of a job queue partition, and does not drop the index', async () => {
  const queue = () =>
    sql(`select pg_get_indexdef(indexrelid) as definition, indisvalid from pg_index
      where indrelid = 'pgboss.job_common'::regclass order by 1`)
  const before = await queue()
  await sql(`update pg_index set indisvalid = false
    where indexrelid = 'pgboss.job_common_i1'::regclass`)
  await bench.mend(KEY, 'index job_common_i1 on pgboss.job_common')
  expect(await queue()).toEqual(before)
})

it('the index fix does not touch an index that another session is building', async () => {
  await sql('drop index users__blocked')
  const open = await openTransaction(bench)
  const other = ownerClient(bench.database.address)
  await other.connect()
  const built = other.query(
    'create index concurrently users__blocked on users (tenant_id, id) where not is_active',
  )
  await waitingBuild(bench)
  expect((await bench.look(KEY)).findings).toEqual([])
  await open.end()
  await built
  await other.end()
  expect((await bench.look(KEY)).findings).toEqual([])
})

it('the index fix completes an index build that was killed', async () => {
  await sql('drop index journal__by_tenant; drop index users__by_role')
  for (const finding of (await bench.look(KEY)).findings) {
    const open = await openTransaction(bench)
    const killed = expect(bench.repair(KEY, finding)).rejects.toThrow()
    await sql(`select pg_terminate_backend(${await waitingBuild(bench)})`)
    await killed
    await open.end()
  }
  expect(await sql('select from pg_index where not indisvalid')).not.toEqual([])
  const left = (await bench.look(KEY)).findings.map(({ subject }) => subject)
  expect(left).toContain('index journal__by_tenant on journal')
  expect(left).toContain('index users__by_role on users')
  for (const finding of (await bench.look(KEY)).findings) await bench.repair(KEY, finding)
  expect((await bench.look(KEY)).findings).toEqual([])
  expect(await sql('select from pg_index where not indisvalid')).toEqual([])
})

it('the index fix refuses a unique index if the table has duplicate values, and leaves no partial index', async () => {
  await sql(`drop index users__email;
    insert into users (tenant_id, email, full_name, role, password_hash) values (1, 'A@a.example', 'A', 'nurse', '')`)
  const [finding] = (await bench.look(KEY)).findings
  if (!finding) throw new Error('nothing is seen')
  await expect(bench.repair(KEY, finding)).rejects.toThrow('duplicate values')
  expect(await sql('select from pg_index where not indisvalid')).toEqual([])
  await sql(`delete from users where email = 'A@a.example'`)
  await bench.mend(KEY, 'index users__email on users')
})

it('the index fix does nothing for a finding that contains SQL or is already repaired', async () => {
  const before = await state()
  for (const subject of ['index x on users; drop table users', 'index users__by_name on users'])
    expect(await bench.repair(KEY, { tenant_id: null, subject, measured: {}, expected: {} })).toBe(
      'already gone',
    )
  expect(await state()).toEqual(before)
})
