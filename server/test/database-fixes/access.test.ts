/** Policies, privileges, triggers and functions that are not what the schema says are seen and put back. */
import pg from 'pg'
import { beforeAll, expect, it } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { dumpSchema } from '../../src/platform/db/schema-dump.ts'
import { type Bench, openBench } from './bench.ts'

let bench: Bench
const sql = <T extends pg.QueryResultRow>(text: string) => bench.database.sql<T>(text)

/** The whole schema as text. That everybody may call a function goes without saying. */
async function dump(): Promise<string> {
  const client = new pg.Client({ connectionString: bench.database.url })
  await client.connect()
  const text = await dumpSchema(client).finally(() => client.end())
  return text.replaceAll(/^GRANT execute ON ROUTINE .* TO PUBLIC;\n/gm, '')
}

/** Shared by concurrent runs and left in place, as roles belong to the cluster. */
const STRANGER = 'wardkeep_fixes_test'
let made: string

beforeAll(async () => {
  bench = await openBench()
  await sql(`do $$ begin create role ${STRANGER};
    exception when duplicate_object or unique_violation then null; end $$`)
  made = await dump()
})

it('nothing is seen in a database as the migrations leave it', async () => {
  const seen = await bench.lookAtAll()
  expect(Object.values(seen).flat()).toEqual([])
})

it.each([
  [
    'database.row_security',
    'row security that is off, and one that the owner is not held to',
    `alter table patients disable row level security; alter table users no force row level security`,
    ['row security of patients', 'row security of users'],
  ],
  [
    'database.row_security',
    'a policy that is gone, one that shows all and one that nobody made',
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
    'database.row_security',
    'row security where the schema has none',
    'alter table installation enable row level security',
    ['row security of installation'],
  ],
  [
    'database.grants',
    'privileges that are too many, too few, of a stranger, of a column and of everybody',
    `grant update, delete on journal to wardkeep_app; revoke insert on patients from wardkeep_app;
     grant select on users to ${STRANGER} with grant option; grant select (email) on users to ${STRANGER};
     grant update on installation to wardkeep_platform; grant create on schema public to public`,
    [
      'grants on journal to wardkeep_app',
      'grants on patients to wardkeep_app',
      `grants on users to ${STRANGER}`,
      'grants on installation to wardkeep_platform',
      'grants on SCHEMA public to PUBLIC',
    ],
  ],
  [
    'database.grants',
    "the owner's functions open to all, and one closed that all need",
    `grant execute on function drop_webhook_partition to public;
     revoke execute on function current_tenant from public`,
    [
      'grants on ROUTINE drop_webhook_partition(date) to PUBLIC',
      'grants on ROUTINE current_tenant() to PUBLIC',
    ],
  ],
  [
    'database.grants',
    'privileges on tables to come',
    `alter default privileges in schema public grant select, insert on tables to ${STRANGER};
     alter default privileges grant execute on functions to ${STRANGER}`,
    [
      `default privileges on TABLES to ${STRANGER}`,
      `default privileges on FUNCTIONS to ${STRANGER}`,
    ],
  ],
  [
    'database.triggers',
    'triggers that are gone, off, other and of nobody, and a rule',
    `drop trigger journal__no_truncate on journal;
     alter table journal disable trigger journal__append_only;
     drop trigger users__come on users;
     create trigger users__come after insert on users for each row execute function note_list_row('id');
     create function leak() returns trigger language plpgsql as 'begin return new; end';
     create trigger leak before insert on patients for each row execute function leak();
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
    'database.functions',
    'functions that are gone or say something else',
    `create or replace function current_tenant() returns bigint language sql stable parallel safe as 'select 1::bigint';
     drop function drop_webhook_partition`,
    ['function public.current_tenant()', 'function public.drop_webhook_partition(one_day date)'],
  ],
])('%s: %s', async (key, _, fault, subjects) => {
  await sql(fault)
  const findings = await bench.mend(key, ...subjects)
  for (const { measured, expected } of findings) {
    expect(measured).toMatchObject({
      state: expect.stringMatching(/missing|surplus|different|disabled/),
    })
    expect(expected).not.toEqual({})
  }
  await sql('drop function if exists leak')
  expect(await dump()).toBe(made)
  expect(Object.values(await bench.lookAtAll()).flat()).toEqual([])
})

it('reports a disabled trigger as disabled, also on partitions and of foreign keys', async () => {
  const [part] = await sql<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent = 'journal'::regclass order by 1 limit 1`,
  )
  await sql(`alter table ${part?.name} disable trigger journal__append_only;
    alter table departments disable trigger all`)
  const { findings } = await bench.look('database.triggers')
  expect(findings[0]).toMatchObject({
    measured: { state: 'disabled' },
    expected: { state: 'enabled' },
  })
  const subjects = findings.map(({ subject }) => subject)
  expect(subjects).toContain(`trigger journal__append_only on ${part?.name}`)
  expect(
    subjects.filter((one) => /^trigger "RI_ConstraintTrigger_\w+" on departments$/.test(one)),
  ).not.toEqual([])
  await bench.mend('database.triggers', ...subjects)
  expect(await sql(`select from pg_trigger where tgenabled <> 'O'`)).toEqual([])
})

it('what a policy says is not shown, and what should be there is', async () => {
  await sql(
    `drop policy platform on users; create policy platform on users using (email = 'x@y.example')`,
  )
  const { findings } = await bench.look('database.row_security')
  expect(findings).toEqual([
    {
      tenant_id: null,
      subject: 'policy platform on users',
      measured: { state: 'different' },
      expected: {
        statement:
          'CREATE POLICY platform ON users FOR all TO wardkeep_platform\n  USING (true)\n  WITH CHECK (true);',
      },
    },
  ])
  await bench.mend('database.row_security', 'policy platform on users')
})

it('a finding that is gone, unknown or holds SQL does nothing', async () => {
  for (const subject of [
    'policy tenant on patients',
    'policy x on patients; drop table patients; --',
    'row security of patients; alter table patients disable row level security',
    'drop table patients',
  ])
    for (const key of [
      'database.row_security',
      'database.grants',
      'database.triggers',
      'database.functions',
      'database.partition_security',
    ])
      expect(
        await bench.repair(key, { tenant_id: null, subject, measured: {}, expected: {} }),
      ).toBe('already gone')
  expect(await dump()).toBe(made)
})

it('what another repair or a migration is at work on is left to it', async () => {
  const other = ownerClient(bench.database.address)
  await other.connect()
  const finding = { tenant_id: null, subject: 'policy tenant on users', measured: {}, expected: {} }
  await other.query('select pg_advisory_lock(7261949)')
  await expect(bench.repair('database.row_security', finding)).rejects.toThrow('another repair')
  await other.query('select pg_advisory_unlock(7261949), pg_advisory_lock(7261935)')
  await expect(bench.repair('database.row_security', finding)).rejects.toThrow('lock timeout')
  await other.end()
  expect(await bench.repair('database.row_security', finding)).toBe('already gone')
})

it('a repair gives way where the table is busy, and leaves it as it was', async () => {
  await sql('alter table users no force row level security')
  const reader = ownerClient(bench.database.address)
  await reader.connect()
  await reader.query('begin; select from users limit 1')
  const [finding] = (await bench.look('database.row_security')).findings
  if (!finding) throw new Error('nothing is seen')
  await expect(bench.repair('database.row_security', finding)).rejects.toThrow('lock timeout')
  await reader.end()
  await bench.mend('database.row_security', 'row security of users')
})

it("the schema of another release is none of this one's business", async () => {
  await sql(`insert into migrations (version, name, checksum) values (9999, 'of a newer node', '');
    alter table users no force row level security`)
  for (const { key } of bench.fixes) {
    const { findings, looked_at } = await bench.look(key)
    expect({ findings, looked_at }, key).toEqual({ findings: [], looked_at: 0 })
  }
  const finding = { tenant_id: null, subject: 'row security of users', measured: {}, expected: {} }
  await expect(bench.repair('database.row_security', finding)).rejects.toThrow('another release')
  await sql('delete from migrations where version = 9999')
  await bench.mend('database.row_security', 'row security of users')
})
