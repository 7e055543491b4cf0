import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { emptyDatabase } from '../../../test/support/database.ts'
import { dumpSchema } from './schema-dump.ts'

/**
 * The name of a role, which belongs to the whole cluster. Concurrent test runs share the role, so no run deletes it.
 */
const reader = 'wardkeep_dump_test'

const everything = `
  do $$ begin create role ${reader}; exception when duplicate_object or unique_violation then null; end $$;
  create extension citext;
  create schema ledger;
  grant usage on schema ledger to ${reader};
  alter default privileges in schema ledger grant select on tables to ${reader};
  create type mood as enum ('well', 'it''s fine');
  create type spot as (x int, y numeric(10, 2));
  create domain short_name as text default 'x' constraint short_name__length check (length(value) < 10);
  create sequence tickets as int increment by 5;
  grant usage on sequence tickets to ${reader};
  create function touched() returns trigger language plpgsql as $$ begin return new; end $$;
  revoke all on function touched() from public;
  grant execute on function touched() to ${reader};
  comment on function touched() is 'runs before; each row';
  create table a_tenants (
    id bigint generated always as identity primary key,
    name short_name collate "C" not null,
    subdomain citext not null constraint a_tenants__subdomain unique,
    settings jsonb default '{}',
    searched text generated always as (lower(subdomain::text)) stored,
    dropped int,
    constraint a_tenants__name check (length(name) > 0 and name <> 'x')
  );
  alter table a_tenants drop column dropped;
  comment on table a_tenants is 'One row a clinic';
  comment on column a_tenants.name is 'It''s the name';
  create table b_users (
    id serial,
    tenant_id bigint not null references a_tenants on delete cascade,
    email text not null,
    primary key (tenant_id, id),
    constraint b_users__email exclude using btree (email with =)
  ) with (fillfactor = 80);
  create unique index b_users__lower on b_users (tenant_id, lower(email)) where email <> '';
  alter table b_users enable row level security;
  alter table b_users force row level security;
  create policy own on b_users to ${reader} using (tenant_id = 1) with check (tenant_id = 1 or id = 2);
  create policy nobody on b_users as restrictive for select using (false);
  create trigger b_users__touched before insert or update of email on b_users
    for each row when (new.email is not null) execute function touched();
  grant select, insert on b_users to ${reader};
  grant update (email) on b_users to ${reader};
  create table "C Journal" (
    tenant_id bigint, at timestamptz(3), primary key (tenant_id, at)
  ) partition by range (at);
  create index c__at on "C Journal" (at);
  create table c_2026 partition of "C Journal" for values from ('2026-01-01') to ('2027-01-01');
  create index c_2026__own on c_2026 (tenant_id);
  create table d_refs (tenant_id bigint, at timestamptz,
    constraint d_refs__entry foreign key (tenant_id, at) references "C Journal" deferrable);
  create table ledger.entries (id int primary key);
  create unlogged table e_cache (k text primary key);
  create view named with (security_invoker = true) as
    select u.id, t.name from b_users u join a_tenants t on t.id = u.tenant_id;
  grant select on named to public;
  grant select (name), update (name) on a_tenants to ${reader};
  create materialized view counts as select count(*) n from a_tenants;
  create unique index counts__n on counts (n);
`

async function dumpOf(statements: string): Promise<string> {
  const database = await emptyDatabase()
  const client = new pg.Client({ connectionString: database.url })
  try {
    await client.connect()
    await client.query(statements)
    return await dumpSchema(client)
  } finally {
    await client.end()
    await database.close()
  }
}

describe('the schema dump', () => {
  let dump: string

  beforeAll(async () => {
    dump = await dumpOf(everything)
  })

  it('recreates a database with an identical schema dump', async () => {
    expect(await dumpOf(dump)).toBe(dump)
  })

  it('writes a table with its columns and constraints', () => {
    expect(dump).toContain(
      [
        'CREATE TABLE a_tenants (',
        '  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,',
        '  name short_name COLLATE "C" NOT NULL,',
        '  subdomain citext NOT NULL,',
        "  settings jsonb DEFAULT '{}'::jsonb,",
        '  searched text GENERATED ALWAYS AS (lower(subdomain::text)) STORED,',
        '  CONSTRAINT a_tenants_pkey PRIMARY KEY (id),',
        '  CONSTRAINT a_tenants__subdomain UNIQUE (subdomain),',
        "  CONSTRAINT a_tenants__name CHECK (length(name::text) > 0 AND name::text <> 'x'::text)",
        ');',
      ].join('\n'),
    )
  })

  it('writes the indexes, policies and triggers of a table after the table', () => {
    const own = dump.slice(dump.indexOf('CREATE TABLE b_users')).split('\n\n')[0]
    expect(own?.slice(own.indexOf(') WITH'))).toBe(
      [
        ') WITH (fillfactor=80);',
        "CREATE UNIQUE INDEX b_users__lower ON b_users USING btree (tenant_id, lower(email)) WHERE email <> ''::text;",
        'ALTER TABLE b_users ENABLE ROW LEVEL SECURITY;',
        'ALTER TABLE b_users FORCE ROW LEVEL SECURITY;',
        'CREATE POLICY nobody ON b_users AS RESTRICTIVE FOR select TO PUBLIC',
        '  USING (false);',
        `CREATE POLICY own ON b_users FOR all TO ${reader}`,
        '  USING (tenant_id = 1)',
        '  WITH CHECK (tenant_id = 1 OR id = 2);',
        'CREATE TRIGGER b_users__touched BEFORE INSERT OR UPDATE OF email ON b_users FOR EACH ROW WHEN (new.email IS NOT NULL) EXECUTE FUNCTION touched();',
        `GRANT insert, select ON b_users TO ${reader};`,
        `GRANT update (email) ON b_users TO ${reader};`,
      ].join('\n'),
    )
  })

  it('writes a partitioned table with its partition key but without its partitions', () => {
    expect(dump).toContain(') PARTITION BY RANGE (at);\nCREATE INDEX c__at ON "C Journal"')
    expect(dump).not.toContain('2026')
  })

  it.each([
    "COMMENT ON COLUMN public.a_tenants.name IS 'It''s the name';",
    "COMMENT ON FUNCTION public.touched() IS 'runs before; each row';",
    'REVOKE ALL ON ROUTINE touched() FROM PUBLIC;',
    `GRANT execute ON ROUTINE touched() TO ${reader};`,
    `GRANT usage ON SEQUENCE tickets TO ${reader};`,
    `GRANT select (name), update (name) ON a_tenants TO ${reader};`,
    `GRANT usage ON SCHEMA ledger TO ${reader};`,
    'CREATE EXTENSION citext WITH SCHEMA public;',
    "CREATE TYPE mood AS ENUM ('well', 'it''s fine');",
    'CREATE UNLOGGED TABLE e_cache (',
    'CREATE TABLE ledger.entries (',
    'CREATE VIEW named WITH (security_invoker=true) AS',
    'CREATE UNIQUE INDEX counts__n ON counts',
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ledger GRANT select ON TABLES TO ${reader};`,
  ])('contains the statement: %s', (line) => {
    expect(dump).toContain(line)
  })

  it('leaves out objects of extensions and of PostgreSQL', () => {
    expect(dump).not.toMatch(/citext_|pg_toast|information_schema|NOT NULL tenant_id/)
  })
})
