/**
 * Compares those parts of a database that the schema dump does not contain: default privileges, disabled triggers and
 * rules, owners, the service's roles, collation versions, and objects that belong to a single partition.
 */
import { APP_ROLE, PLATFORM_ROLE } from '../../db/connection.ts'
import { grants, isOurs, ofColumn } from '../schema-queries.ts'
import type { AskSchema, RepairStatement, Schema } from './schema.ts'
import { type Kind, kindOf, repairSubjectOf } from './statement.ts'

interface Compared {
  readonly expected: readonly RepairStatement[]
  readonly live: readonly RepairStatement[]
}

export async function readOutsideDump(ask: AskSchema, committed: Schema): Promise<Compared> {
  const parts = [
    await readSurplus(ask, DEFAULT_PRIVILEGES),
    await readTriggers(ask, committed),
    await readOwners(ask),
    await readSurplus(ask, ROLES),
    await readCollations(ask),
    await readPartitions(ask, committed),
  ]
  return {
    expected: parts.flatMap(({ expected }) => expected),
    live: parts.flatMap(({ live }) => live),
  }
}

function statementOf(kind: Exclude<Kind, 'collation'>, text: string): RepairStatement {
  const subject = repairSubjectOf(kind, text)
  return { kind, subject, head: subject, text }
}

/** Reads statements about live objects that should not exist. */
async function readSurplus(ask: AskSchema, query: string): Promise<Compared> {
  const rows = await ask<{ text: string }>(query)
  return { expected: [], live: rows.map(({ text }) => statementOf(kindOf(text), text)) }
}

/**
 * Finds default privileges of the role that owns the tables. Default privileges of other roles do not affect the
 * schema.
 */
const DEFAULT_PRIVILEGES = `
  select format('ALTER DEFAULT PRIVILEGES FOR ROLE %s%s GRANT %s ON %s TO %s;', d.defaclrole::regrole,
    ' IN SCHEMA ' || nullif(d.defaclnamespace, 0)::regnamespace, string_agg(lower(privilege_type), ', '),
    case defaclobjtype when 'r' then 'TABLES' when 'S' then 'SEQUENCES' when 'f' then 'FUNCTIONS'
      when 'T' then 'TYPES' else 'SCHEMAS' end,
    case grantee when 0 then 'PUBLIC' else grantee::regrole::text end) as text
  from pg_default_acl d cross join lateral aclexplode(d.defaclacl)
  where d.defaclrole = (select relowner from pg_class where oid = 'public.migrations'::regclass)
    and grantee <> d.defaclrole
    -- Everybody has these on new functions and types unless they are revoked.
    and not (grantee = 0 and d.defaclnamespace = 0 and defaclobjtype in ('f', 'T'))
  group by d.oid, grantee order by 1`

async function readTriggers(ask: AskSchema, { heads }: Schema): Promise<Compared> {
  const rows = await ask<{ head: string; text: string }>(DISABLED_TRIGGERS_AND_RULES)
  const ours = rows.filter(({ head }) => heads.has(head))
  return { expected: [], live: ours.map(({ text }) => statementOf('trigger', text)) }
}

/** Finds rules and disabled triggers, including triggers of foreign keys and of partitions. */
const DISABLED_TRIGGERS_AND_RULES = `
  select 'table ' || coalesce(parent.inhparent, t.tgrelid)::regclass as head,
    format('ALTER TABLE %s DISABLE TRIGGER %I;', t.tgrelid::regclass, t.tgname) as text
  from pg_trigger t left join pg_inherits parent on parent.inhrelid = t.tgrelid
  where t.tgenabled not in ('O', 'A') and not exists (
    -- Enabling the trigger of the table enables this one too.
    select from pg_trigger whole where whole.oid = t.tgparentid and whole.tgenabled not in ('O', 'A'))
  union all
  select 'table ' || coalesce(parent.inhparent, r.ev_class)::regclass,
    format('CREATE RULE %I ON %s;', r.rulename, r.ev_class::regclass)
  from pg_rewrite r join pg_class c on c.oid = r.ev_class and c.relkind in ('r', 'p')
  left join pg_inherits parent on parent.inhrelid = r.ev_class
  order by 1, 2`

/** Finds tables, views, sequences without a column, and functions whose owner differs from the owner of most tables. */
const OTHER_OWNERS = `
  with usual as (
    select mode() within group (order by relowner) as owner from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
  ), owned as (
    select case relkind when 'S' then 'SEQUENCE' else 'TABLE' end as kind, oid::regclass::text as name, relowner as owner
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
      -- The sequence of a column has the owner of its table.
      and not (relkind = 'S' and exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i')))
    union all
    select 'ROUTINE', oid::regprocedure::text, proowner from pg_proc
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
  )
  select format('ALTER %s %s OWNER TO %s;', kind, name, usual.owner::regrole) as expected,
    format('ALTER %s %s OWNER TO %s;', kind, name, owned.owner::regrole) as live
  from owned cross join usual where owned.owner <> usual.owner order by kind, name`

async function readOwners(ask: AskSchema): Promise<Compared> {
  const rows = await ask<{ expected: string; live: string }>(OTHER_OWNERS)
  return {
    expected: rows.map(({ expected }) => statementOf('owner', expected)),
    live: rows.map(({ live }) => statementOf('owner', live)),
  }
}

/**
 * Finds attributes and memberships of the service's roles that the service has not created. Excludes memberships of
 * owners of other databases, because they may use the same roles for their own service. Includes the grantor from
 * PostgreSQL 16 on.
 */
const ROLES = `
  with ours as (
      select oid, rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolcanlogin
      from pg_roles where rolname in ('${APP_ROLE}', '${PLATFORM_ROLE}')),
    owner as (
      select relowner as id from pg_class where oid = 'public.migrations'::regclass
      union select datdba from pg_database
      union select oid from pg_roles where rolsuper)
  select format('ALTER ROLE %I %s;', rolname, word) as text
  from ours, lateral (
    values ('SUPERUSER', rolsuper), ('BYPASSRLS', rolbypassrls), ('CREATEROLE', rolcreaterole),
      ('CREATEDB', rolcreatedb), ('REPLICATION', rolreplication), ('LOGIN', rolcanlogin)) v (word, holds)
  where holds
  union all
  select format('GRANT %s TO %s%s;', roleid::regrole, member::regrole,
    case when current_setting('server_version_num')::int >= 160000 then ' GRANTED BY ' || grantor::regrole end)
  from pg_auth_members
  where member in (select oid from ours)
    or roleid in (select oid from ours) and member not in (select id from owner)
  order by text`

/**
 * Finds collations that an index uses and whose recorded version differs from the version of the installed library. The
 * collation of the database is called "default".
 */
const CHANGED_COLLATIONS = `
  with known as (
    select c.oid, 'collation of the database' as subject, d.datcollversion as recorded,
      pg_database_collation_actual_version(d.oid) as actual,
      format('ALTER DATABASE %I REFRESH COLLATION VERSION;', d.datname) as refresh
    from pg_database d join pg_collation c on c.collname = 'default' and c.collnamespace = 'pg_catalog'::regnamespace
    where d.datname = current_database()
    union all
    select oid, 'collation ' || oid::regcollation, collversion, pg_collation_actual_version(oid),
      format('ALTER COLLATION %s REFRESH VERSION;', oid::regcollation)
    from pg_collation where collversion is not null)
  select subject, format('version %s; the indexes were built with version %s', actual, recorded) as live,
    format('REINDEX DATABASE CONCURRENTLY %I; %s', current_database(), refresh) as expected
  from known where recorded <> actual and exists (
    select from pg_index i join pg_class x on x.oid = i.indexrelid and x.relkind = 'i'
    join pg_class t on t.oid = i.indrelid
    where known.oid = any (i.indcollation) and x.relpersistence <> 't' and t.relkind in ('r', 'm')
      and t.relnamespace in (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'))
  order by subject collate "C"`

async function readCollations(ask: AskSchema): Promise<Compared> {
  const rows = await ask<{ subject: string; live: string; expected: string }>(CHANGED_COLLATIONS)
  const of = (subject: string, text: string): RepairStatement => ({
    kind: 'collation',
    subject,
    head: subject,
    text,
  })
  return {
    expected: rows.map(({ subject, expected }) => of(subject, expected)),
    live: rows.map(({ subject, live }) => of(subject, live)),
  }
}

interface Partition {
  name: string
  parent: string
  /**
   * The policies, privileges and triggers of the partition itself, as SQL. A policy appears only with its name and
   * table.
   */
  lines: string[]
}

const PARTITIONS = `
  with part as (
    select c.oid, c.relacl, c.relowner, c.oid::regclass::text as name, i.inhparent::regclass::text as parent
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where c.relispartition and c.relkind in ('r', 'p') and ${isOurs('c.relnamespace', 'pg_class', 'c.oid')})
  select name, parent, array(
    select line from (
      select 1 as rank, format('CREATE POLICY %I ON %s;', polname, name) as line from pg_policy where polrelid = part.oid
      union all
      select 2, line from (${grants('', 'name', 'relacl', 'relowner')}) of_table
      union all
      select 3, line from pg_attribute a
      cross join lateral (${grants('', 'name', 'a.attacl', 'relowner', ofColumn('a.attname'))}) of_column
      where a.attrelid = part.oid and not a.attisdropped
      union all
      select 4, pg_get_triggerdef(oid, true) || ';' from pg_trigger
      where tgrelid = part.oid and not tgisinternal and tgparentid = 0
    ) own order by rank, line collate "C") as lines
  from part order by name collate "C"`

/**
 * Compares the partitions, which the service accesses only through their parent table. Each partition needs the
 * TRUNCATE triggers of the parent table, which PostgreSQL does not copy to partitions.
 */
async function readPartitions(ask: AskSchema, committed: Schema): Promise<Compared> {
  const partitions = (await ask<Partition>(PARTITIONS)).filter(({ parent }) =>
    committed.heads.has(`table ${parent}`),
  )
  const triggers = committed.statements.filter(
    ({ kind, text }) => kind === 'trigger' && text.includes(' TRUNCATE ON '),
  )
  // Ignores grants to the service's roles on partitions of tables without row-level security.
  const guarded = new Set(
    committed.statements.filter(({ kind }) => kind === 'row security').map(({ head }) => head),
  )
  return {
    expected: partitions.flatMap(({ name, parent }) =>
      triggers
        .filter(({ head }) => head === `table ${parent}`)
        .map(({ text }) =>
          statementOf(
            'trigger',
            text.replace(` ON ${parent} `, () => ` ON ${name} `),
          ),
        ),
    ),
    live: partitions.flatMap(({ parent, lines }) =>
      lines
        .map((line) => statementOf(kindOf(line), line))
        .filter((one) => guarded.has(`table ${parent}`) || !isOfService(one)),
    ),
  }
}

const isOfService = ({ subject }: RepairStatement) =>
  subject.endsWith(` to ${APP_ROLE}`) || subject.endsWith(` to ${PLATFORM_ROLE}`)
