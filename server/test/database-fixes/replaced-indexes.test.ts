/** An index that is in place holds what it holds until the right one is built beside it, whatever happens meanwhile. */
import { beforeAll, expect, inject, it } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import type { Finding } from '../../src/platform/fix.ts'
import { atTheEnd } from '../support/at-the-end.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { withDatabase } from '../support/server-address.ts'
import { type Bench, openBench } from './bench.ts'
import { openTransaction, waitingBuild } from './builds.ts'

const KEY = 'database.indexes'
const EMAIL = 'index users__email on users'
let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)
const user = (email: string) => `
  insert into users (tenant_id, email, full_name, role, password_hash) values (1, '${email}', 'A', 'nurse', '')`
const dayOfAttempts = (day: number) => `
  create table webhook_attempts_day_${day} partition of webhook_attempts
    for values from ('2020-01-0${day}Z') to ('2020-01-0${day + 1}Z')`
const attempt = `
  insert into webhook_attempts (tenant_id, webhook_id, entry_id, event_at, number, started_at, duration_ms)
    values (1, 1, 1, '2020-01-01T12:00Z', 1, '2020-01-01T12:00Z', 1)`

beforeAll(async () => {
  bench = await openBench()
  await sql(`insert into tenants (id, name, subdomain) values (1, 'A', 'a')`)
  await sql(user('a@a.example'))
  await sql(dayOfAttempts(1))
  await sql(attempt)
})

/** All indexes, with whether they are valid and what they are attached to. */
const state = () =>
  sql<{ name: string }>(`
    select c.relname as name, i.indisvalid as valid, up.inhparent::regclass::text as parent,
      pg_get_indexdef(c.oid) as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid left join pg_inherits up on up.inhrelid = c.oid
    where c.relnamespace = 'public'::regnamespace order by 1`)

/** With what is beside it. */
const indexes = (name: string) =>
  sql(`select relname as name, relname::regclass::oid::int as id, indisvalid as valid, pg_get_indexdef(indexrelid) as definition
    from pg_class join pg_index on indexrelid = pg_class.oid where relname like '${name}%' order by relname`)

/** Puts another index in its place, and returns what is seen of it. */
async function replaceBy(statement: string, subject = EMAIL): Promise<Finding> {
  await sql(`drop index ${subject.split(' ')[1]}; ${statement}`)
  const { findings } = await bench.look(KEY)
  expect(findings).toMatchObject([{ subject, measured: { state: 'different' } }])
  return findings[0] as Finding
}

const subjects = async (key: string) =>
  (await bench.look(key)).findings.map(({ subject }) => subject)

/** These are seen, and no other; what repairs make is no surplus. */
async function expectOnly(...faults: string[]): Promise<void> {
  expect(await subjects(KEY)).toEqual(faults)
  expect(await subjects('database.surplus')).toEqual([])
}

it('how an index is stored is no fault', async () => {
  const before = await state()
  const administer = ownerClient(withDatabase(inject('server'), null))
  await administer.connect()
  await administer.query('set allow_in_place_tablespaces = on')
  const space = `wk_space_${process.pid}`
  await administer.query(`create tablespace ${space} location ''`)
  atTheEnd(async () => {
    await sql('alter index users__by_email set tablespace pg_default')
    await administer.query(`drop tablespace ${space}`)
    await administer.end()
  })
  await sql(`alter index users__email set (fillfactor = 80, deduplicate_items = off);
    alter index users__search set (fastupdate = off);
    alter index departments__head set (fillfactor = 70); alter index patient_tokens__by_token set (fillfactor = 90);
    drop index journal__positions; create index journal__positions on journal (xid, id) with (fillfactor = 90) where not is_access`)
  await sql(`alter index users__by_email set tablespace ${space}`)
  expect(await state()).not.toEqual(before)
  await expectOnly()
  await sql(
    'alter index users__search reset (fastupdate); alter index users__email reset (fillfactor, deduplicate_items)',
  )
})

it.each([
  ['columns', 'create index users__by_name on users (tenant_id, full_name)', 'users__by_name'],
  [
    'predicate',
    'create index users__blocked on users (tenant_id, id) where is_active',
    'users__blocked',
  ],
  ['kind', 'create index users__search on users (search)', 'users__search'],
  [
    'queue',
    'create index warning_i1 on pgboss.warning (created_on)',
    'warning_i1',
    'pgboss.warning',
    'pgboss.warning_i1',
  ],
])(
  'one of another %s is replaced, and nothing is left of it',
  async (_, statement, name, table = 'users', path = name) => {
    const before = await sql(`select pg_get_indexdef('${path}'::regclass)`)
    await sql(`drop index ${path}; ${statement}`)
    expect(await sql(`select pg_get_indexdef('${path}'::regclass)`)).not.toEqual(before)
    await bench.mend(KEY, `index ${name} on ${table}`)
    expect(await sql(`select pg_get_indexdef('${path}'::regclass)`)).toEqual(before)
    expect(await sql(`select from pg_class where relname like '%\\_\\_successor'`)).toEqual([])
  },
)

it.each([
  ['a writer, ahead of it', `begin; ${user('b@a.example')}`],
  ['a snapshot, at its end', undefined],
])('what is unique stays unique while the build waits for %s', async (_, holding) => {
  const [right] = await indexes('users__email')
  const finding = await replaceBy(
    'create unique index users__email on users (tenant_id, lower(email))',
  )
  const [old] = await indexes('users__email')
  const open = await openTransaction(bench, holding)
  const repair = bench.repair(KEY, finding)
  await waitingBuild(bench)
  await expect(sql(user('A@a.example'))).rejects.toThrow(
    'duplicate key value violates unique constraint "users__email"',
  )
  expect((await indexes('users__email'))[0]).toEqual(old)
  await expectOnly(EMAIL)
  await open.end()
  expect(await repair).toBe('repaired')
  await expect(sql(user('A@a.example'))).rejects.toThrow('"users__email"')
  expect(await indexes('users__email')).toEqual([{ ...right, id: expect.any(Number) }])
  await expectOnly()
})

it('where rows come meanwhile that the right index refuses, the old one stays', async () => {
  const finding = await replaceBy('create index users__email on users (tenant_id, email)')
  const before = await indexes('users__email')
  // Whoever writes is waited for ahead of the build.
  const open = await openTransaction(bench, `begin; ${user('A@a.example')}`)
  const refused = expect(bench.repair(KEY, finding)).rejects.toThrow(
    'users__email is unique, and there are rows that are alike',
  )
  await waitingBuild(bench)
  await open.end()
  await refused
  expect(await indexes('users__email')).toEqual(before)
  await sql(`delete from users where email = 'A@a.example'`)
  await bench.mend(KEY, EMAIL)
})

it('a process that dies leaves the old index, and the next repair ends it', async () => {
  const finding = await replaceBy(
    'create unique index users__email on users (tenant_id, lower(email))',
  )
  const [old] = await indexes('users__email')
  const open = await openTransaction(bench)
  const killed = expect(bench.repair(KEY, finding)).rejects.toThrow()
  await sql(`select pg_terminate_backend(${await waitingBuild(bench)})`)
  await killed
  await open.end()
  expect(await indexes('users__email')).toMatchObject([
    old,
    { name: 'users__email__successor', valid: false },
  ])
  await expect(sql(user('A@a.example'))).rejects.toThrow('"users__email"')
  await expectOnly(EMAIL)
  await bench.mend(KEY, EMAIL)
  expect(await indexes('users__email')).toMatchObject([{ valid: true }])
})

it('a table that somebody holds keeps the old index, and what is built takes its place the next time', async () => {
  const finding = await replaceBy(
    'create unique index users__email on users (tenant_id, lower(email))',
  )
  const [old] = await indexes('users__email')
  const open = await openTransaction(bench, 'begin; select from users')
  await expect(bench.repair(KEY, finding)).rejects.toThrow('confirm again when that has ended')
  const [still, built] = await indexes('users__email')
  expect(still).toEqual(old)
  expect(built).toMatchObject({ name: 'users__email__successor', valid: true })
  await expectOnly(EMAIL)
  await open.end()
  await bench.mend(KEY, EMAIL)
  expect(await indexes('users__email')).toMatchObject([{ name: 'users__email', id: built?.id }])
})

it('a table that is held for a moment is waited for', async () => {
  const finding = await replaceBy('create index users__email on users (tenant_id, email)')
  const open = await openTransaction(bench, 'begin; select from users')
  const repair = bench.repair(KEY, finding)
  const isWaiting = () =>
    sql(`select from pg_locks where not granted and mode = 'AccessExclusiveLock'
      and relation = 'users'::regclass and ${OF_THIS_DATABASE}`)
  while ((await isWaiting()).length === 0);
  await open.end()
  expect(await repair).toBe('repaired')
  await expectOnly()
})

it('what a repair has left beside a right index is found and dropped, and not while another repairs', async () => {
  const before = await state()
  const [part] = await sql<{ name: string }>(
    `select min(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'journal'::regclass`,
  )
  const ofPart = `${part?.name}_journal__by_user__successor`
  await sql(`create index users__by_name__successor on users (full_name);
    create unique index users__email__successor on users (email);
    create index ${ofPart} on ${part?.name} (user_id);
    create index ${part?.name}_journal__by_user on ${part?.name} (user_id)`)
  await sql(
    `update pg_index set indisvalid = false where indexrelid = 'users__email__successor'::regclass`,
  )
  const repairing = await openTransaction(
    bench,
    `begin; select pg_advisory_xact_lock(${LOCKS.schemaRepair})`,
  )
  await expectOnly()
  await repairing.end()
  const left = [
    `index ${part?.name}_journal__by_user on ${part?.name}`,
    `index ${ofPart} on ${part?.name}`,
    'index users__by_name__successor on users',
    'index users__email__successor on users',
  ]
  await expectOnly(...left)
  const findings = await bench.mend(KEY, ...left)
  for (const { measured, expected } of findings)
    expect([measured, expected]).toEqual([{ state: 'left over' }, { state: 'absent' }])
  expect(await state()).toEqual(before)
})

it.each([
  [
    'a constraint',
    'alter table users add constraint users__email unique (tenant_id, email)',
    'constraint users__email of users',
  ],
  [
    'a foreign key',
    `create unique index users__email on users (tenant_id, email); create schema theirs;
     create table theirs.known (t bigint, e text, constraint known foreign key (t, e) references users (tenant_id, email))`,
    'constraint known of theirs.known',
  ],
  [
    'the identity of replicated rows',
    `create unique index users__email on users (tenant_id, email);
     alter table users replica identity using index users__email`,
    'the replica identity of users',
  ],
])('one that %s rests on stays, and is told how to be replaced by hand', async (_, put, what) => {
  const finding = await replaceBy(put)
  const before = await state()
  await expect(bench.repair(KEY, finding)).rejects.toThrow(
    `users__email cannot be replaced, as ${what} rests on it: give it another name (alter index users__email rename to …), confirm again, and drop it once nothing rests on it`,
  )
  expect(await state()).toEqual(before)
  await sql('alter index users__email rename to former')
  await bench.mend(KEY, EMAIL)
  await sql(`drop schema if exists theirs cascade; alter table users drop constraint if exists former;
    alter table users replica identity default; drop index if exists former`)
  await expectOnly()
})

const ATTEMPTS = 'index webhook_attempts__of_delivery on webhook_attempts'
const partitions = () =>
  sql<{ part: string; index: string; valid: boolean }>(`
    select t.relname as part, indexrelid::regclass::text as index, indisvalid as valid
    from pg_inherits up join pg_class t on t.oid = inhrelid left join pg_index on indrelid = t.oid
    where inhparent = 'webhook_attempts'::regclass order by 1, 2`)

/** A unique one that is other than it should be, and a repair that has begun to replace it. */
async function beginOnPartitions() {
  const finding = await replaceBy(
    'create unique index webhook_attempts__of_delivery on webhook_attempts (webhook_id, entry_id, event_at)',
    ATTEMPTS,
  )
  const before = await partitions()
  const open = await openTransaction(bench)
  const repair = bench.repair(KEY, finding)
  return { before, open, repair }
}

it('what is unique on partitions stays so while the right index is built on each, new ones too', async () => {
  const { open, repair } = await beginOnPartitions()
  await waitingBuild(bench)
  await expect(sql(attempt)).rejects.toThrow('duplicate key')
  await sql(dayOfAttempts(2))
  await expectOnly(ATTEMPTS)
  await open.end()
  expect(await repair).toBe('repaired')
  await expect(sql(attempt)).rejects.toThrow('duplicate key')
  const after = await partitions()
  expect(after.map(({ part }) => part)).toContain('webhook_attempts_day_2')
  expect(after.every(({ valid }) => valid)).toBe(true)
  expect(new Set(after.map(({ part }) => part)).size).toBe(after.length)
  expect(await sql(`select from pg_class where relname like '%\\_\\_succ%'`)).toEqual([])
  await expectOnly()
})

it('a process that dies in between leaves the index on every partition, and the next repair ends it', async () => {
  const { before, open, repair } = await beginOnPartitions()
  const killed = expect(repair).rejects.toThrow()
  await sql(`select pg_terminate_backend(${await waitingBuild(bench)})`)
  await killed
  await open.end()
  expect(await partitions()).toEqual(expect.arrayContaining(before))
  await expect(sql(attempt)).rejects.toThrow('duplicate key')
  await expectOnly(ATTEMPTS)
  await bench.mend(KEY, ATTEMPTS)
  expect((await partitions()).length).toBe(before.length)
  await expectOnly()
})
