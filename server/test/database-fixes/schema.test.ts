/**
 * The schema fix reports each difference between the live schema and the release's schema to operators. The same
 * comparison guards restores.
 */
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, inject, it } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import type { Finding } from '../../src/platform/feature/fix.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { differingSafeguards } from '../../src/platform/schema/repairs/index.ts'
import { databaseOn } from '../support/database.ts'
import { silentLog, withDatabase } from '../support/server-address.ts'
import { type Bench, openBench } from './scene.ts'

const KEY = 'database.schema'
/**
 * A role that concurrent runs share. The test does not remove it, because all databases of the server share their
 * roles.
 */
const STRANGER = 'wardkeep_fixes_test'

/** One database for all tests. Each test adds its own differences. */
let bench: Bench

beforeAll(async () => {
  bench = await openBench()
  await bench.database.sql(`do $$ begin create role ${STRANGER};
    exception when duplicate_object or unique_violation then null; end $$`)
})

const differences = async () => (await bench.look(KEY)).findings

/** Creates a fault. Returns the findings that appear with it. */
async function appearing(fault: string): Promise<readonly Finding[]> {
  const before = new Set((await differences()).map(({ subject }) => subject))
  await bench.database.sql(fault)
  return (await differences()).filter(({ subject }) => !before.has(subject))
}

const subjectsOf = (findings: readonly Finding[]) => findings.map(({ subject }) => subject)

it('the schema check finds nothing in a newly migrated database', async () => {
  expect(Object.values(await bench.lookAtAll()).flat()).toEqual([])
  const fix = bench.fixes.find(({ key }) => key === KEY)
  expect(fix).toMatchObject({ automatic: false, runbook: 'schema-drift.md' })
  expect(fix?.repair).toBeUndefined()
})

it('the schema check finds nothing more once the printed statements are executed', async () => {
  const { sql } = bench.database
  await sql(`drop policy tenant on users; revoke insert on patients from wardkeep_app;
    drop trigger journal__append_only on journal;
    alter table webhooks drop constraint webhooks__why_inactive`)
  const findings = await bench.differ(
    'policy tenant on users',
    'grants on patients to wardkeep_app',
    'trigger journal__append_only on journal',
    'constraint webhooks__why_inactive of table webhooks',
  )
  for (const { subject, expected } of findings) {
    const text = String(expected.statement)
    await sql(subject.startsWith('constraint') ? `alter table webhooks add ${text}` : text)
  }
  await bench.differ()
})

const CASES: [string, string, string[]][] = [
  [
    'policies that are missing, different and surplus',
    `drop policy tenant on patients; drop policy tenant on users;
     create policy tenant on users to wardkeep_app using (true);
     create policy "all, ""of it"" on x; --" on sessions to wardkeep_app using (true)`,
    [
      'policy tenant on patients',
      'policy tenant on users',
      'policy "all, ""of it"" on x; --" on sessions',
    ],
  ],
  [
    'row-level security on a table for which the schema has none',
    'alter table installation enable row level security',
    ['row security of installation'],
  ],
  [
    'privileges that are surplus or missing, of unknown roles, of columns and of PUBLIC',
    `grant update, delete on journal to wardkeep_app; revoke insert on patients from wardkeep_app;
     grant select (email) on users to ${STRANGER}; grant create on schema public to public;
     grant execute on function drop_webhook_partition to public;
     revoke execute on function current_tenant from public`,
    [
      'grants on journal to wardkeep_app',
      'grants on patients to wardkeep_app',
      `grants on users to ${STRANGER}`,
      'grants on SCHEMA public to PUBLIC',
      'grants on ROUTINE drop_webhook_partition(date) to PUBLIC',
      'grants on ROUTINE current_tenant() to PUBLIC',
    ],
  ],
  [
    'default privileges',
    `alter default privileges in schema public grant select, insert on tables to ${STRANGER};
     alter default privileges grant execute on functions to ${STRANGER}`,
    [
      `default privileges on TABLES to ${STRANGER}`,
      `default privileges on FUNCTIONS to ${STRANGER}`,
    ],
  ],
  [
    'triggers that are missing, disabled, different and surplus, and a rule',
    `drop trigger journal__no_truncate on journal;
     alter table journal disable trigger journal__append_only;
     drop trigger users__come on users;
     create trigger users__come after insert on users for each row execute function note_list_row('id');
     create trigger leak before insert on patients for each row execute function note_list_row('id');
     create rule "swallow it" as on insert to sessions do instead nothing`,
    [
      'trigger journal__no_truncate on journal',
      'trigger journal__append_only on journal',
      'trigger users__come on users',
      'trigger leak on patients',
      'rule "swallow it" on sessions',
    ],
  ],
  [
    'functions that are missing and different',
    `create or replace function current_tenant() returns bigint language sql stable parallel safe as 'select 1::bigint';
     drop function drop_webhook_partition`,
    ['function public.current_tenant()', 'function public.drop_webhook_partition(one_day date)'],
  ],
  [
    'a missing table once, and missing or different columns and constraints',
    `drop table preferences; alter table users drop column last_login_at;
     alter table tenants alter column name drop not null;
     alter table departments drop constraint departments_tenant_id_fkey;
     alter table departments add constraint departments_tenant_id_fkey
       foreign key (tenant_id) references tenants on delete cascade not valid;
     alter table webhooks drop constraint webhooks__why_inactive`,
    [
      'table preferences',
      'column last_login_at of table users',
      'column name of table tenants',
      'constraint departments_tenant_id_fkey of table departments',
      'constraint webhooks__why_inactive of table webhooks',
    ],
  ],
  [
    'surplus objects beside the tables of the service, but none in other schemas',
    `create table mine (id int primary key); grant select on mine to wardkeep_app;
     create view everyone as select * from users;
     create function reveal() returns int language sql as 'select 1'; revoke execute on function reveal from public;
     alter table users add column nickname text, add constraint no_nick check (nickname <> '');
     create unique index "Users by nick" on users (nickname);
     create schema theirs; create table theirs.own (id int primary key); create extension citext schema theirs`,
    [
      'table mine',
      'view everyone',
      'function public.reveal()',
      'column nickname of table users',
      'constraint no_nick of table users',
      'index "Users by nick" on users',
    ],
  ],
  [
    'an index with other columns, but neither storage parameters nor additional indexes',
    `drop index users__by_name; create index users__by_name on users (tenant_id, full_name);
     alter index users__email set (fillfactor = 80, deduplicate_items = off);
     drop index journal__positions;
     create index journal__positions on journal (xid, id) with (fillfactor = 90) where not is_access;
     create index users__faster on users (created_at)`,
    ['index users__by_name on users'],
  ],
]

it('the schema check reports a partition that lost a trigger or that roles can access directly', async () => {
  const [part] = await bench.database.sql<{ name: string }>(
    `select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'journal'::regclass`,
  )
  const findings = await appearing(`alter table ${part?.name} disable trigger journal__append_only;
    drop trigger journal__no_truncate on ${part?.name};
    create trigger other after insert on ${part?.name} for each row execute function note_list_row('id');
    create policy open on ${part?.name} to wardkeep_app using (true);
    grant select, update (changes) on ${part?.name} to wardkeep_app;
    grant select on pgboss.job_common to public`)
  expect(subjectsOf(findings).toSorted()).toEqual(
    [
      `trigger journal__append_only on ${part?.name}`,
      `trigger journal__no_truncate on ${part?.name}`,
      `trigger other on ${part?.name}`,
      `policy open on ${part?.name}`,
      `grants on ${part?.name} to wardkeep_app`,
      'grants on pgboss.job_common to PUBLIC',
    ].toSorted(),
  )
})

it.each(CASES)('the schema check reports %s', async (_, fault, subjects) => {
  const findings = await appearing(fault)
  expect(subjectsOf(findings).toSorted()).toEqual(subjects.toSorted())
  for (const { measured, expected } of findings) {
    expect(measured).toMatchObject({
      state: expect.stringMatching(/^(missing|surplus|different|disabled)$/),
    })
    expect(expected).not.toEqual({})
  }
})

it('the schema check prints the expected statement, but not the content of a policy', async () => {
  const findings = await appearing(`drop policy platform on departments;
    create policy platform on departments using (name = 'x'); grant truncate on users to wardkeep_app`)
  expect(findings).toContainEqual({
    tenant_id: null,
    subject: 'policy platform on departments',
    measured: { state: 'different' },
    expected: {
      statement:
        'CREATE POLICY platform ON departments FOR all TO wardkeep_platform\n  USING (true)\n  WITH CHECK (true);',
    },
  })
  const grants = findings.find(({ subject }) => subject === 'grants on users to wardkeep_app')
  expect(grants?.measured.statement).toContain('truncate')
  expect(grants?.expected.statement).not.toContain('truncate')
})

it('the schema check reports disabled triggers, including those of foreign keys', async () => {
  const findings = await appearing('alter table departments disable trigger all')
  expect(findings[0]).toMatchObject({
    measured: { state: 'disabled' },
    expected: { state: 'enabled' },
  })
  expect(
    subjectsOf(findings).filter((one) =>
      /^trigger "RI_ConstraintTrigger_\w+" on departments$/.test(one),
    ),
  ).not.toEqual([])
})

it('the schema check reports tables, partitions and functions that have another owner', async () => {
  const { sql } = bench.database
  const [part] = await sql<{ name: string; owner: string }>(
    `select inhrelid::regclass::text as name, relowner::regrole::text as owner
     from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'journal'::regclass order by 1 limit 1`,
  )
  const changed = ['TABLE webhooks', `TABLE ${part?.name}`, 'ROUTINE sealed_by(bytea)']
  const findings = await appearing(
    changed.map((one) => `alter ${one} owner to wardkeep_platform`).join(';'),
  )
  const owners = findings.filter(({ subject }) => subject.startsWith('owner of '))
  expect(subjectsOf(owners).toSorted()).toEqual(
    changed.map((one) => `owner of ${one.split(' ')[1]}`).toSorted(),
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

it('other database checks find nothing in a database with any of these differences', async () => {
  const { [KEY]: _differences, ...others } = await bench.lookAtAll()
  expect(Object.values(others).flat()).toEqual([])
})

it('the schema check reports a collation whose version differs from its indexes, until both are refreshed', async () => {
  const administer = async (text: string) => {
    const client = ownerClient(withDatabase(inject('server'), null))
    await client.connect()
    await client.query(text).finally(() => client.end())
  }
  // Text in this database sorts by an ICU collation, unlike in the templates.
  const name = `wk_${randomBytes(6).toString('hex')}`
  await administer(`create database ${name} template template0 encoding 'UTF8'
    locale_provider icu icu_locale 'en' locale 'C'`)
  const address = withDatabase(inject('server'), name)
  const database = databaseOn(address, () =>
    administer(`drop database if exists ${name} with (force)`),
  )
  await migrate(address, silentLog)
  const other = await openBench(database)
  await database.sql(`create collation "Of clinics" (provider = icu, locale = 'de')`)
  await database.sql(`create index sorted on tenants (name collate "Of clinics")`)
  await other.differ()
  // No index uses the second collation.
  await database.sql(
    `update pg_database set datcollversion = '1.0' where datname = current_database()`,
  )
  await database.sql(`update pg_collation set collversion = '1.0'
    where collname = 'Of clinics' or collname = 'fr-x-icu'`)
  const findings = await other.differ('collation of the database', 'collation "Of clinics"')
  expect(findings[0]?.measured.statement).toContain('built with version 1.0')
  for (const { expected } of findings)
    for (const statement of String(expected.statement).split('; ')) await database.sql(statement)
  await other.differ()
})

it('the schema check lists exactly the missing safeguards that a restore requires', async () => {
  const { database } = await openBench()
  const differing = differingSafeguards({ openConnection: () => ownerClient(database.address) })
  const client = ownerClient(database.address)
  await client.connect()
  expect(await differing(client)).toEqual([])
  await client.query(`alter table users no force row level security;
    alter table users disable trigger users__come; grant delete on journal to wardkeep_app;
    create table mine (id int); drop index users__by_name`)
  expect(await differing(client)).toEqual([
    'grants on journal to wardkeep_app',
    'row security of users',
    'trigger users__come on users',
  ])
  await client.end()
})
