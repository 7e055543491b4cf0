/** What holds data, or is somebody's work, is told of; nothing is repaired. */
import { beforeAll, expect, it } from 'vitest'
import { type Bench, openBench } from './bench.ts'

let bench: Bench
const subjects = async (key: string) =>
  (await bench.look(key)).findings.map(({ subject }) => subject)

beforeAll(async () => {
  bench = await openBench()
})

it('none of it has a repair', async () => {
  for (const key of ['database.tables', 'database.constraints', 'database.surplus']) {
    const fix = bench.fixes.find((one) => one.key === key)
    expect(fix).toMatchObject({ automatic: false, runbook: 'schema-drift.md' })
    expect(fix?.repair).toBeUndefined()
  }
})

it('what is missing or other is told of once, not with all that hangs on it', async () => {
  await bench.database.sql(`
    drop table preferences; alter table users drop column last_login_at;
    alter table tenants alter column name drop not null;
    alter table departments drop constraint departments_tenant_id_fkey;
    alter table departments add constraint departments_tenant_id_fkey
      foreign key (tenant_id) references tenants on delete cascade not valid;
    alter table webhooks drop constraint webhooks__why_inactive`)
  expect(await subjects('database.tables')).toEqual([
    'column last_login_at of table users',
    'column name of table tenants',
    'table preferences',
  ])
  expect(await subjects('database.constraints')).toEqual([
    'constraint departments_tenant_id_fkey of table departments',
    'constraint webhooks__why_inactive of table webhooks',
  ])
  for (const key of ['database.row_security', 'database.grants', 'database.surplus'])
    expect(await subjects(key), key).toEqual([])
})

it('what no release has made is told of, where it is among our tables', async () => {
  await bench.database.sql(`
    create table mine (id int primary key); grant select on mine to wardkeep_app;
    alter table mine enable row level security; create policy mine on mine using (true);
    create view everyone as select * from users; grant select on everyone to wardkeep_app;
    create function reveal() returns int language sql as 'select 1'; revoke execute on function reveal from public;
    alter table users add column nickname text, add constraint no_nick check (nickname <> '');
    create index "Users by nick" on users (nickname);
    create schema theirs; create table theirs.own (id int primary key); create extension citext schema theirs`)
  expect(await subjects('database.surplus')).toEqual([
    'column nickname of table users',
    'constraint no_nick of table users',
    'function public.reveal()',
    'index "Users by nick" on users',
    'table mine',
    'view everyone',
  ])
  for (const key of ['database.row_security', 'database.grants', 'database.functions'])
    expect(await subjects(key), key).toEqual([])
})

it('reports tables, partitions and functions that have another owner', async () => {
  const { sql } = bench.database
  const [part] = await sql<{ name: string; owner: string }>(
    `select inhrelid::regclass::text as name, relowner::regrole::text as owner
     from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'journal'::regclass order by 1 limit 1`,
  )
  const changed = ['TABLE webhooks', `TABLE ${part?.name}`, 'ROUTINE sealed_by(bytea)']
  for (const one of changed) await sql(`alter ${one} owner to wardkeep_platform`)
  const { findings } = await bench.look('database.tables')
  const owners = findings.filter(({ subject }) => subject.startsWith('owner of '))
  expect(owners.map(({ subject }) => subject).sort()).toEqual(
    changed.map((one) => `owner of ${one.split(' ')[1]}`).sort(),
  )
  expect(owners).toContainEqual({
    tenant_id: null,
    subject: 'owner of webhooks',
    measured: {
      state: 'different',
      statement: 'ALTER TABLE webhooks OWNER TO wardkeep_platform;',
    },
    expected: { statement: `ALTER TABLE webhooks OWNER TO ${part?.owner};` },
  })
})
