/** The database catalogue: tables, policies and roles, checked for every table. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { listenerClient } from '../../src/platform/db/connection.ts'
import { openService, type Service } from '../support/service.ts'
import { tenantTables } from './scene.ts'

const SERVICE_ROLES = ['wardkeep_app', 'wardkeep_platform']
const NOT_ALLOWED = '42501'

let service: Service
let sql: Service['database']['sql']

beforeAll(async () => {
  service = await openService()
  sql = service.database.sql
  await sql("insert into journal (action, resource_type) values ('user.updated', 'user')")
  await sql("insert into journal_resources select 1, 'word', 1, now(), 1")
})

/** Every table and partition that holds rows of tenants. */
const isolated = `
  select c.oid, c.relname as name, c.relispartition as is_partition,
    c.relrowsecurity as enabled, c.relforcerowsecurity as forced
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
    and (c.relname = 'tenants' or exists (
      select from pg_attribute a
      where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))`

describe('row-level security', () => {
  test('is enabled and forced for every tenant table, including partitions', async () => {
    const tables = await sql<{ name: string; enabled: boolean; forced: boolean }>(isolated)
    expect(tables.map((table) => table.name)).toEqual(
      expect.arrayContaining(['tenants', 'users', 'sessions', 'patients', 'journal']),
    )
    expect(tables.some((table) => table.name.startsWith('journal_2'))).toBe(true)
    expect(tables.filter((table) => !table.enabled || !table.forced)).toEqual([])
  })

  test('lets the application role see one tenant, by a policy on every table', async () => {
    const policies = await sql<{ name: string; policy: string; checks: string | null }>(
      `select t.name, pg_get_expr(p.polqual, p.polrelid) as policy,
         pg_get_expr(p.polwithcheck, p.polrelid) as checks
       from (${isolated}) t
       left join pg_policy p on p.polrelid = t.oid
         and 'wardkeep_app'::regrole = any (p.polroles)
       where not t.is_partition`,
    )
    for (const { name, policy, checks } of policies) {
      const column = name === 'tenants' ? 'id' : 'tenant_id'
      const expected = `(${column} = current_tenant())`
      expect([name, policy, checks]).toEqual([name, expected, expected])
    }
  })

  test('names only the two service roles in its policies', async () => {
    const others = await sql(
      `select c.relname, p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
       where not p.polroles <@ array['wardkeep_app'::regrole::oid, 'wardkeep_platform'::regrole::oid]`,
    )
    expect(others).toEqual([])
  })

  test('cannot be bypassed through partitions, because the service roles have no rights on partitions', async () => {
    const reachable = await sql(
      `select t.name, r.role from (${isolated}) t, unnest($1::text[]) r (role)
       where t.is_partition and has_table_privilege(r.role, t.oid, 'select, insert, update, delete')`,
      [SERVICE_ROLES],
    )
    expect(reachable).toEqual([])
  })

  test('is enabled for partitions that are created later', async () => {
    const [made] = await sql<{ made: number }>('select ensure_journal_partitions(5) as made')
    expect(made?.made).toBeGreaterThan(0)
    const open = await sql(`select * from (${isolated}) t where not (enabled and forced)`)
    expect(open).toEqual([])
  })

  // Some tables have no tenant policy. Key-encryption keys wrap the keys of all tenants and are wrapped themselves. Audit
  // keys sign the heads of all tenants, and are encrypted too.
  // Action names belong to the release. Invalidations contain only IDs, like notifications, which every role may
  // receive.
  test('covers every table that the application role may read, except tables without tenant data', async () => {
    const readable = await sql<{ name: string }>(
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')
         and has_table_privilege('wardkeep_app', oid, 'select') order by 1`,
    )
    expect(readable.map((table) => table.name)).toEqual(
      [
        'tenants',
        'audit_keys',
        'invalidations',
        'key_encryption_keys',
        'journal_actions',
        ...(await tenantTables(service)),
      ].sort(),
    )
  })
})

describe('the database roles of the service', () => {
  test('cannot log in, bypass row-level security, create objects or replicate', async () => {
    const roles = await sql(
      `select rolname from pg_roles where rolname = any ($1)
         and not (rolsuper or rolbypassrls or rolcreatedb or rolcreaterole or rolreplication or rolcanlogin)
       order by 1`,
      [SERVICE_ROLES],
    )
    expect(roles.map((role) => role.rolname)).toEqual(SERVICE_ROLES)
  })

  test('own nothing', async () => {
    const owned = await sql(
      `select refobjid::regrole::text as role, classid::regclass::text as kind
       from pg_shdepend where deptype = 'o' and refclassid = 'pg_authid'::regclass
         and refobjid in ('wardkeep_app'::regrole, 'wardkeep_platform'::regrole)`,
    )
    expect(owned).toEqual([])
  })

  test('are not members of any other role, or of each other', async () => {
    const memberships = await sql(
      `select roleid::regrole::text from pg_auth_members
       where member in ('wardkeep_app'::regrole, 'wardkeep_platform'::regrole)`,
    )
    expect(memberships).toEqual([])
  })

  test('cannot create anything in the schema', async () => {
    for (const role of SERVICE_ROLES)
      expect(
        await sql("select has_schema_privilege($1, 'public', 'create') as may", [role]),
      ).toEqual([{ may: false }])
  })
})

describe('the application role', () => {
  const asApp = async (text: string) => {
    const client = listenerClient(service.database.address)
    await client.connect()
    try {
      return await client.query(text)
    } finally {
      await client.end()
    }
  }

  test.each([
    "update journal set action = 'x'",
    'delete from journal',
    'truncate journal',
    'drop table journal',
    'update journal_resources set resource_id = 2',
    'delete from journal_resources',
    'truncate journal_resources',
    'alter table journal disable trigger all',
    'alter table users disable row level security',
    'drop policy tenant on users',
    'truncate users cascade',
    'delete from tenants',
    'select * from signing_keys',
    'select * from journal_consumers',
    "insert into journal_actions values ('x')",
    'delete from journal_actions',
    'select * from throttles',
    "update key_encryption_keys set wrapped_key = 'x'",
    'delete from key_encryption_keys',
    'update audit_keys set retired_at = now()',
    'select * from audit_witnesses',
    'select * from root_keys',
    'select * from service_key',
    'select * from other_sessions()',
    "call isolate('users')",
    'select ensure_journal_partitions(12)',
    "select ensure_webhook_partitions('2026-01-01', '2026-01-02')",
    'select webhook_partition_days()',
    "select drop_webhook_partition('2026-01-01')",
    'truncate webhook_deliveries',
    'update webhook_attempts set number = 2',
    'create table mine (id int)',
  ])('cannot run: %s', async (text) => {
    await expect(asApp(text)).rejects.toMatchObject({ code: NOT_ALLOWED })
  })
})

describe('a database function that runs with the rights of its owner', () => {
  const definers = () =>
    sql<{ name: string; path: string | null }>(
      `select p.oid::regprocedure::text as name,
         (select substr(setting, 13) from unnest(p.proconfig) setting
          where setting like 'search_path=%') as path
       from pg_proc p where p.prosecdef
         and p.pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
       order by 1`,
    )

  // Without pg_temp at the end of the search path, PostgreSQL would search temporary tables first.
  test("searches its own schema first, and the caller's temporary schema last", async () => {
    const found = await definers()
    expect(found.map(({ name }) => name)).toContain('ensure_journal_partitions(integer,integer)')
    const isSafe = (path: string | null) => /^(?:public|pg_catalog), pg_temp$/.test(path ?? '')
    expect(found.filter(({ path }) => !isSafe(path))).toEqual([])
  })

  test('ignores a temporary table that has the name of one of its own tables', async () => {
    const [last] = await sql<{ part: string }>(
      `select inhrelid::regclass::text as part from pg_inherits
       where inhparent = 'journal'::regclass order by 1 desc limit 1`,
    )
    await sql(`drop table ${last?.part}`)
    const client = listenerClient(service.database.address)
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(
      'set role wardkeep_platform; create temporary table journal (created_at date)',
    )
    // Uses a single statement, so that both sides refer to the same month.
    const { rows } = await client.query(
      `select ensure_journal_partitions(months.ahead) as made
       from age(to_date(right($1, 7), 'YYYY_MM'), date_trunc('month', now() at time zone 'UTC')::date) as age,
         lateral (select (12 * extract(year from age) + extract(month from age))::integer) as months (ahead)`,
      [last?.part],
    )
    expect(rows).toEqual([{ made: 1 }])
    const [parent] = await sql<{ schema: string }>(
      `select c.relnamespace::regnamespace::text as schema from pg_inherits i
       join pg_class c on c.oid = i.inhparent where i.inhrelid = $1::regclass`,
      [last?.part],
    )
    expect(parent).toEqual({ schema: 'public' })
  })
})

describe('the journal table', () => {
  test('has each entry in at most eight indexes including its key, as does each monthly partition (ADR 0016)', async () => {
    // An entry is in one of the two indexes by position: that of accesses, or that of all others.
    const counted = await sql<{ name: string; indexes: number }>(
      `select indrelid::regclass::text as name, count(*) as indexes from pg_index
       where (indrelid = 'journal'::regclass or indrelid in
           (select inhrelid from pg_inherits where inhparent = 'journal'::regclass))
         and pg_get_expr(indpred, indrelid) is distinct from 'is_access'
       group by indrelid`,
    )
    expect(counted.map(({ name }) => name)).toContain('journal')
    expect(counted.filter(({ indexes }) => indexes > 8)).toEqual([])
  })

  test.each([
    "update journal set action = 'x'",
    'delete from journal',
    'truncate journal',
    'update journal_resources set resource_id = 2',
    'delete from journal_resources',
    'truncate journal_resources',
  ])('refuses even its owner: %s', async (text) => {
    const before = await sql('select * from journal order by id')
    await expect(sql(text)).rejects.toMatchObject({
      code: NOT_ALLOWED,
      message: 'the journal is append-only',
    })
    expect(await sql('select * from journal order by id')).toEqual(before)
  })

  test('refuses the same statements on each partition, including later partitions', async () => {
    await sql('select ensure_journal_partitions(6)')
    const partitions = await sql<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'journal'::regclass",
    )
    expect(partitions.length).toBeGreaterThanOrEqual(7)
    for (const { name } of partitions)
      await expect(sql(`truncate ${name}`)).rejects.toMatchObject({ code: NOT_ALLOWED })
    const [full] = await sql<{ name: string }>(
      'select tableoid::regclass::text as name from journal limit 1',
    )
    for (const text of [`update ${full?.name} set action = 'x'`, `delete from ${full?.name}`])
      await expect(sql(text)).rejects.toMatchObject({ code: NOT_ALLOWED })
  })
})
