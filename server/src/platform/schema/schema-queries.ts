/**
 * The catalogue queries of the schema dump. Each query returns lines of SQL (`line`), and the key of the object to
 * which a line belongs (`owner`). The collation "C" makes the order independent of server settings.
 */

/** Returns the SQL condition that an object belongs neither to PostgreSQL nor to an extension. */
export const isOurs = (schema: string, catalogue: string, object: string) => `
  ${schema} in (
    select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
  and not exists (
    select from pg_depend
    where classid = '${catalogue}'::regclass and objid = ${object} and deptype = 'e')`

/** Selects tables and views. Partitions and their objects are omitted. */
const relation = `
  relation as (
    select c.*, c.oid::regclass::text as name from pg_class c
    where c.relkind in ('r', 'p', 'v', 'm') and not c.relispartition
      and ${isOurs('c.relnamespace', 'pg_class', 'c.oid')})`

const routine = `
  routine as (
    select p.*, p.oid::regprocedure::text as name from pg_proc p
    where p.prokind <> 'a' and ${isOurs('p.pronamespace', 'pg_proc', 'p.oid')})`

/** Selects sequences, except those of identity columns, which the column definition creates. */
const sequence = `
  sequence as (
    select c.*, c.oid::regclass::text as name from pg_class c
    where c.relkind = 'S' and ${isOurs('c.relnamespace', 'pg_class', 'c.oid')}
      and not exists (
        select from pg_depend
        where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'i'))`

/** Returns a query for the privileges that \`acl\` grants to roles other than the owner, one line per role. */
export const grants = (kind: string, name: string, acl: string, owner: string, column = `''`) => `
  select format('GRANT %s ON ${kind}%s TO %s%s;',
      string_agg(lower(privilege_type) || ${column}, ', ' order by privilege_type collate "C"), ${name},
      case grantee when 0 then 'PUBLIC' else grantee::regrole::text end,
      case when is_grantable then ' WITH GRANT OPTION' else '' end) as line
  from aclexplode(${acl}) where grantee <> ${owner}
  group by grantee, is_grantable`

/** Returns SQL that formats the column of a column privilege, such as ` (name)`. */
export const ofColumn = (name: string) => `format(' (%I)', ${name})`

export const schemaQueries = {
  relations: `
    with ${relation}
    select 'r' || oid as owner,
      case relkind when 'v' then 'CREATE VIEW ' when 'm' then 'CREATE MATERIALIZED VIEW '
        else case relpersistence when 'u' then 'CREATE UNLOGGED TABLE ' else 'CREATE TABLE ' end
      end || name as head,
      coalesce(' PARTITION BY ' || pg_get_partkeydef(oid), '')
        || coalesce(' WITH (' || array_to_string(reloptions, ', ') || ')', '') as options,
      case when relkind in ('v', 'm') then pg_get_viewdef(oid, true) end as query
    from relation order by relkind in ('v', 'm'), name collate "C"`,

  schemas: `
    select 's' || n.oid as owner, g.line
    from pg_namespace n
    cross join lateral (
      select format('CREATE SCHEMA %I;', n.nspname) as line, 0 as rank
      where n.nspname <> 'public'
      union all
      select line, 1 from (${grants('SCHEMA ', 'quote_ident(n.nspname)', 'n.nspacl', 'n.nspowner')}) of_schema
    ) g
    where ${isOurs('n.oid', 'pg_namespace', 'n.oid')}
    order by n.nspname collate "C", g.rank, g.line collate "C"`,

  extensions: `
    select 'e' || e.oid as owner, format('CREATE EXTENSION %I WITH SCHEMA %I;', extname, nspname) as line
    from pg_extension e join pg_namespace n on n.oid = extnamespace
    where extname <> 'plpgsql' order by extname collate "C"`,

  types: `
    select 't' || t.oid as owner,
      case t.typtype
        when 'e' then format('CREATE TYPE %s AS ENUM (%s);', t.oid::regtype, (
          select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder)
          from pg_enum where enumtypid = t.oid))
        when 'd' then format('CREATE DOMAIN %s AS %s%s%s%s;', t.oid::regtype,
          format_type(t.typbasetype, t.typtypmod), coalesce(' DEFAULT ' || t.typdefault, ''),
          case when t.typnotnull then ' NOT NULL' else '' end, (
          select coalesce(string_agg(format(' CONSTRAINT %I %s', conname, pg_get_constraintdef(c.oid, true)),
            '' order by conname collate "C"), '')
          from pg_constraint c where contypid = t.oid and contype = 'c'))
        else format('CREATE TYPE %s AS (%s);', t.oid::regtype, (
          select string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum)
          from pg_attribute where attrelid = t.typrelid and attnum > 0 and not attisdropped))
      end as line
    from pg_type t left join pg_class c on c.oid = t.typrelid
    where (t.typtype in ('e', 'd') or (t.typtype = 'c' and c.relkind = 'c'))
      and ${isOurs('t.typnamespace', 'pg_type', 't.oid')}
    order by t.typtype <> 'e', t.typtype, t.oid::regtype::text collate "C"`,

  sequences: `
    with ${sequence}
    select 'r' || s.oid as owner,
      format('CREATE SEQUENCE %s AS %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s%s;', name,
        format_type(seqtypid, null), seqincrement, seqmin, seqmax, seqstart, seqcache,
        case when seqcycle then ' CYCLE' else '' end) as line
    from sequence s join pg_sequence on seqrelid = s.oid order by name collate "C"`,

  functions: `
    with ${routine}
    select 'f' || oid as owner, rtrim(pg_get_functiondef(oid), E'\\n') || ';' as line
    from routine order by name collate "C"`,

  columns: `
    with ${relation}
    select 'r' || a.attrelid as owner,
      format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
      || case when a.attcollation not in (0, t.typcollation)
          then ' COLLATE ' || a.attcollation::regcollation else '' end
      || case a.attidentity
          when 'a' then ' GENERATED ALWAYS AS IDENTITY'
          when 'd' then ' GENERATED BY DEFAULT AS IDENTITY' else '' end
      || case a.attgenerated
          when '' then coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid, true), '')
          else format(' GENERATED ALWAYS AS (%s) %s', pg_get_expr(d.adbin, d.adrelid, true),
            case a.attgenerated when 's' then 'STORED' else 'VIRTUAL' end) end
      || case when a.attnotnull then ' NOT NULL' else '' end as line
    from pg_attribute a
    join relation r on r.oid = a.attrelid
    join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped order by a.attrelid, a.attnum`,

  // Omits the not-null constraints that PostgreSQL 18 lists, because the column definitions contain them.
  constraints: `
    with ${relation}
    select 'r' || conrelid as owner,
      format('CONSTRAINT %I %s', conname, pg_get_constraintdef(c.oid, true)) as line
    from relation r join pg_constraint c on c.conrelid = r.oid
    where contype in ('p', 'u', 'x', 'c', 'f') and conparentid = 0
    order by conrelid, array_position('{p,u,x,c,f}'::text[], contype::text), conname collate "C"`,

  // Removes the word ONLY, with which PostgreSQL excludes partitions. The dump contains no partitions.
  indexes: `
    with ${relation}
    select 'r' || r.oid as owner,
      replace(pg_get_indexdef(i.indexrelid, 0, true), ' ON ONLY ', ' ON ') || ';' as line
    from relation r join pg_index i on i.indrelid = r.oid join pg_class c on c.oid = i.indexrelid
    where not exists (select from pg_constraint where conindid = i.indexrelid and contype in ('p', 'u', 'x'))
    order by i.indrelid, c.relname collate "C"`,

  statistics: `
    select 'r' || stxrelid as owner, pg_get_statisticsobjdef(oid) || ';' as line
    from pg_statistic_ext order by stxrelid, stxname collate "C"`,

  rowSecurity: `
    with ${relation}
    select 'r' || oid as owner, format('ALTER TABLE %s %s ROW LEVEL SECURITY;', name, word) as line
    from relation, lateral (
      values (1, 'ENABLE', relrowsecurity), (2, 'FORCE', relforcerowsecurity)) v (rank, word, holds)
    where holds order by rank`,

  policies: `
    with ${relation}
    select 'r' || r.oid as owner, format('CREATE POLICY %I ON %s%s FOR %s TO %s', p.policyname, r.name,
      case p.permissive when 'RESTRICTIVE' then ' AS RESTRICTIVE' else '' end, lower(p.cmd), (
        select string_agg(case role when 'public' then 'PUBLIC' else quote_ident(role) end,
          ', ' order by role collate "C") from unnest(p.roles) role))
      || coalesce(E'\\n  USING (' || pg_get_expr(q.polqual, q.polrelid, true) || ')', '')
      || coalesce(E'\\n  WITH CHECK (' || pg_get_expr(q.polwithcheck, q.polrelid, true) || ')', '')
      || ';' as line
    from relation r
    join pg_policy q on q.polrelid = r.oid
    join pg_namespace n on n.oid = r.relnamespace
    join pg_policies p on p.schemaname = n.nspname and p.tablename = r.relname and p.policyname = q.polname
    order by r.oid, p.policyname collate "C"`,

  triggers: `
    select 'r' || tgrelid as owner, pg_get_triggerdef(oid, true) || ';' as line
    from pg_trigger where not tgisinternal order by tgrelid, tgname collate "C"`,

  grants: `
    with ${relation}, ${routine}, ${sequence}
    select owner, line from (
      select 'r' || r.oid as owner, 1 as rank, g.line
      from relation r cross join lateral (${grants('', 'r.name', 'r.relacl', 'r.relowner')}) g
      union all
      select 'r' || r.oid, 2, g.line
      from relation r join pg_attribute a on a.attrelid = r.oid and not a.attisdropped
      cross join lateral (${grants('', 'r.name', 'a.attacl', 'r.relowner', ofColumn('a.attname'))}) g
      union all
      select 'r' || s.oid, 1, g.line
      from sequence s cross join lateral (${grants('SEQUENCE ', 's.name', 's.relacl', 's.relowner')}) g
      union all
      select 'f' || f.oid, 1, format('REVOKE ALL ON ROUTINE %s FROM PUBLIC;', f.name)
      from routine f
      where f.proacl is not null and not exists (select from aclexplode(f.proacl) where grantee = 0)
      union all
      select 'f' || f.oid, 2, g.line
      from routine f cross join lateral (${grants('ROUTINE ', 'f.name', 'f.proacl', 'f.proowner')}) g
      where f.proacl is not null
    ) every_grant
    order by owner, rank, line collate "C"`,

  comments: `
    select coalesce('r' || con.conrelid, 'r' || trg.tgrelid, 'r' || pol.polrelid, 'r' || ix.indrelid,
        case d.classoid::regclass::text when 'pg_class' then 'r' when 'pg_proc' then 'f'
          when 'pg_type' then 't' end || d.objoid) as owner,
      format('COMMENT ON %s %s IS %L;', case what.type
        when 'table column' then 'COLUMN' when 'view column' then 'COLUMN'
        when 'table constraint' then 'CONSTRAINT' else upper(what.type) end,
        what.identity, d.description) as line
    from pg_description d
    left join pg_constraint con on d.classoid = 'pg_constraint'::regclass and con.oid = d.objoid
    left join pg_trigger trg on d.classoid = 'pg_trigger'::regclass and trg.oid = d.objoid
    left join pg_policy pol on d.classoid = 'pg_policy'::regclass and pol.oid = d.objoid
    left join pg_index ix on d.classoid = 'pg_class'::regclass and ix.indexrelid = d.objoid
    cross join lateral pg_identify_object(d.classoid, d.objoid, d.objsubid) what
    where d.objoid >= 16384
    order by 1, d.objsubid, what.identity collate "C"`,

  defaultPrivileges: `
    select 'default' as owner, format('ALTER DEFAULT PRIVILEGES%s %s', ' IN SCHEMA ' || quote_ident(n.nspname), g.line) as line
    from pg_default_acl a left join pg_namespace n on n.oid = a.defaclnamespace
    cross join lateral (
      select replace(line, ' ON %', ' ON ' || case a.defaclobjtype
        when 'r' then 'TABLES' when 'S' then 'SEQUENCES' when 'f' then 'FUNCTIONS'
        when 'T' then 'TYPES' else 'SCHEMAS' end) as line
      from (${grants('', "'%'", 'a.defaclacl', 'a.defaclrole')}) of_default
    ) g
    order by line collate "C"`,
}
