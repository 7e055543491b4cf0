/** The fixes of what keeps tenants apart and the journal whole: row security, privileges, triggers, functions. */
import type { Fix } from '../../fix.ts'
import { drift, type Look, type Read, type Words } from './drift.ts'
import type { Ground } from './ground.ts'
import { type Ask, readLive, type Schema, type Statement } from './schema.ts'
import { type Kind, subjectOf } from './statement.ts'

const RUNBOOK = 'schema-drift.md'

const ROW_SECURITY: Words = {
  key: 'database.row_security',
  title: 'Row-level security differs from the schema',
  description:
    'A table lacks row-level security or its force, or a policy is missing, different or there without being of this release: the second wall between tenants has a hole. Comes from work on the tables by hand.',
  severity: 'critical',
  plan: 'Takes back what is not of the schema of this release, and runs its statements, in one transaction for each table or policy.',
  runbook: RUNBOOK,
}

const readRowSecurity: Read = async (ask, committed) =>
  among(['row security', 'policy'], committed, await readLive(ask, ['rowSecurity', 'policies']))

export const rowSecurity = (ground: Ground): Fix => drift(ground, ROW_SECURITY, readRowSecurity)

const GRANTS: Words = {
  key: 'database.grants',
  title: 'Privileges differ from the schema',
  description:
    'A role may do more or less with a table, column, schema or function than this release says: more is a way past the rules, less is a request that fails. Default privileges would open the tables of the next release.',
  severity: 'critical',
  plan: 'Revokes what the role has there, and grants it what the schema of this release says, in one transaction.',
  runbook: RUNBOOK,
}

const readGrants: Read = async (ask, committed) => {
  const live = await readLive(ask, ['schemas', 'sequences', 'functions', 'grants'])
  const { expected, live: found } = among(['grants'], committed, live)
  return {
    expected: expected.filter(isSaid),
    live: [...found.filter(isSaid), ...(await readDefaults(ask))],
  }
}

export const grants = (ground: Ground): Fix => drift(ground, GRANTS, readGrants)

/** Everybody may call a function of which nothing else is said. */
const isSaid = ({ text }: Statement) => !/^GRANT execute ON ROUTINE .* TO PUBLIC;$/.test(text)

/** For what the owner of the tables makes: what others make is none of the schema's. */
const DEFAULTS = `
  select format('ALTER DEFAULT PRIVILEGES FOR ROLE %s%s GRANT %s ON %s TO %s;', d.defaclrole::regrole,
    ' IN SCHEMA ' || nullif(d.defaclnamespace, 0)::regnamespace, string_agg(lower(privilege_type), ', '),
    case defaclobjtype when 'r' then 'TABLES' when 'S' then 'SEQUENCES' when 'f' then 'FUNCTIONS'
      when 'T' then 'TYPES' else 'SCHEMAS' end,
    case grantee when 0 then 'PUBLIC' else grantee::regrole::text end) as text
  from pg_default_acl d cross join lateral aclexplode(d.defaclacl)
  where d.defaclrole = (select relowner from pg_class where oid = 'public.migrations'::regclass)
    and grantee <> d.defaclrole
    -- What everybody has of new functions and types unless it is taken away.
    and not (grantee = 0 and d.defaclnamespace = 0 and defaclobjtype in ('f', 'T'))
  group by d.oid, grantee order by 1`

async function readDefaults(ask: Ask): Promise<Statement[]> {
  const rows = await ask<{ text: string }>(DEFAULTS)
  return rows.map(({ text }) => statementOf('default privileges', text))
}

const TRIGGERS: Words = {
  key: 'database.triggers',
  title: 'Triggers differ from the schema',
  description:
    'A trigger is missing, different, disabled or there without being of this release, or a rule rewrites what is written: the journal may be changed, foreign keys may not hold, lists count wrongly. What was written meanwhile stays as it is.',
  severity: 'critical',
  plan: 'Drops what is not of the schema of this release, makes what is missing, and enables what is disabled, in one transaction for each trigger.',
  runbook: RUNBOOK,
}

const readTriggers: Read = async (ask, committed) => {
  const { expected, live } = among(['trigger'], committed, await readLive(ask, ['triggers']))
  const others = (await ask<{ head: string; text: string }>(BESIDE_TRIGGERS))
    .filter(({ head }) => committed.heads.has(head))
    .map(({ text }) => statementOf('trigger', text))
  return { expected, live: [...live, ...others] }
}

export const triggers = (ground: Ground): Fix => drift(ground, TRIGGERS, readTriggers)

/** Triggers that do not fire, those of foreign keys and of partitions among them; and rules, which the dump leaves out. */
const BESIDE_TRIGGERS = `
  select 'table ' || coalesce(parent.inhparent, t.tgrelid)::regclass as head,
    format('ALTER TABLE %s DISABLE TRIGGER %I;', t.tgrelid::regclass, t.tgname) as text
  from pg_trigger t left join pg_inherits parent on parent.inhrelid = t.tgrelid
  where t.tgenabled not in ('O', 'A') and not exists (
    -- Of the table's own trigger it is enabled with it.
    select from pg_trigger whole where whole.oid = t.tgparentid and whole.tgenabled not in ('O', 'A'))
  union all
  select 'table ' || coalesce(parent.inhparent, r.ev_class)::regclass,
    format('CREATE RULE %I ON %s;', r.rulename, r.ev_class::regclass)
  from pg_rewrite r join pg_class c on c.oid = r.ev_class and c.relkind in ('r', 'p')
  left join pg_inherits parent on parent.inhrelid = r.ev_class
  order by 1, 2`

const FUNCTIONS: Words = {
  key: 'database.functions',
  title: 'Functions differ from the schema',
  description:
    "A function of the schema is missing or says something else: policies, triggers and the owner's work on partitions go through them.",
  severity: 'critical',
  plan: 'Puts the function of this release in its place; one that was missing gets its privileges with it.',
  runbook: RUNBOOK,
}

const readFunctions: Read = async (ask, committed) => {
  const { statements, heads } = await readLive(ask, ['functions'])
  const ofHead = Map.groupBy(committed.statements, ({ head }) => head)
  return {
    expected: committed.statements
      .filter(({ kind }) => kind === 'function')
      // Until it is granted, everybody may call a function that is new.
      .map((one) =>
        heads.has(one.subject)
          ? one
          : { ...one, text: (ofHead.get(one.subject) ?? []).map(({ text }) => text).join('\n') },
      ),
    live: statements.filter(({ kind, head }) => kind === 'function' && committed.heads.has(head)),
  }
}

export const functions = (ground: Ground): Fix => drift(ground, FUNCTIONS, readFunctions)

/** All of it. */
export const SAFEGUARDS: readonly Read[] = [
  readRowSecurity,
  readGrants,
  readTriggers,
  readFunctions,
]

const statementOf = (kind: Kind, text: string): Statement => {
  const subject = subjectOf(kind, text)
  return { kind, subject, head: subject, text }
}

/** The statements of these kinds that hang on what both have; what only one has is told by another fix. */
function among(kinds: readonly Kind[], committed: Schema, live: Schema): Look {
  const of = (one: Schema, other: Schema) =>
    one.statements.filter(({ kind, head }) => kinds.includes(kind) && other.heads.has(head))
  return { expected: of(committed, live), live: of(live, committed) }
}
