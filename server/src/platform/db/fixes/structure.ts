/** The fixes that are told of: what is missing or other holds data, or somebody's work, and people decide. */
import type { Fix } from '../../fix.ts'
import { type Look, type Read, toldDrift, type Words } from './drift.ts'
import type { Ground } from './ground.ts'
import { subjectOfSuccessor } from './index-state.ts'
import { type Ask, readLive, type Schema, type Statement } from './schema.ts'
import { type Kind, subjectOf } from './statement.ts'

const RUNBOOK = 'schema-drift.md'

const TABLES: Words = {
  key: 'database.tables',
  title: 'Tables or columns differ from the schema',
  description:
    'A table, column, type, sequence, extension or schema is missing or other than this release needs it, or has another owner than the rest. Requests fail that use what is missing, and its data is gone. The owner of a table passes its policies, and a function runs with the rights of its owner.',
  severity: 'critical',
  plan: 'Nothing is repaired: what is missing held data. The runbook says how to bring it back.',
  runbook: RUNBOOK,
}

const HOLDING: readonly Kind[] = [
  'table',
  'view',
  'column',
  'type',
  'sequence',
  'extension',
  'schema',
]

const readTables = missing(HOLDING, ['schemas', 'extensions', 'types', 'sequences', 'columns'])

export const tables = (ground: Ground): Fix =>
  toldDrift(ground, TABLES, async (ask, committed) => {
    const found = await readTables(ask, committed)
    const owners = await readOwners(ask)
    return {
      expected: [...found.expected, ...owners.expected],
      live: [...found.live, ...owners.live],
    }
  })

/** Tables, views, free sequences and functions whose owner is not the one that most tables have. */
const OTHER_OWNERS = `
  with usual as (
    select mode() within group (order by relowner) as owner from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
  ), owned as (
    select case relkind when 'S' then 'SEQUENCE' else 'TABLE' end as kind, oid::regclass::text as name, relowner as owner
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
      -- A sequence of a column has the owner of its table.
      and not (relkind = 'S' and exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype in ('a', 'i')))
    union all
    select 'ROUTINE', oid::regprocedure::text, proowner from pg_proc
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
  )
  select format('ALTER %s %s OWNER TO %s;', kind, name, owned.owner::regrole) as found,
    format('ALTER %s %s OWNER TO %s;', kind, name, usual.owner::regrole) as wanted
  from owned cross join usual where owned.owner <> usual.owner order by kind, name`

async function readOwners(ask: Ask): Promise<Look> {
  const rows = await ask<{ found: string; wanted: string }>(OTHER_OWNERS)
  return {
    expected: rows.map(({ wanted }) => ownerStatement(wanted)),
    live: rows.map(({ found }) => ownerStatement(found)),
  }
}

function ownerStatement(text: string): Statement {
  const subject = subjectOf('owner', text)
  return { kind: 'owner', subject, head: subject, text }
}

const CONSTRAINTS: Words = {
  key: 'database.constraints',
  title: 'Constraints differ from the schema',
  description:
    'A key, a foreign key or a check is missing, different or was never validated: rows may be there that the service takes for impossible.',
  severity: 'high',
  plan: 'Nothing is repaired: rows may break it, and somebody has to say which of them is right. The runbook says how to find them and how to validate under forced row-level security.',
  runbook: RUNBOOK,
}

export const constraints = (ground: Ground): Fix =>
  toldDrift(ground, CONSTRAINTS, missing(['constraint'], ['constraints']))

const SURPLUS: Words = {
  key: 'database.surplus',
  title: 'The database has what is not of the schema',
  description:
    "A table, view, function, type, sequence, column, constraint or index is there that this release does not know. It may be somebody's, or left over; a view or a function may show rows past the policies.",
  severity: 'medium',
  plan: 'Nothing is repaired: it may be needed by somebody. The runbook says how to tell, and to drop it.',
  runbook: RUNBOOK,
}

export const surplus = (ground: Ground): Fix =>
  toldDrift(ground, SURPLUS, async (ask, committed) => {
    // What a repair builds beside an index, or has left there, is told of with the indexes.
    const known = new Set(
      committed.statements.flatMap(({ kind, subject, text }) =>
        kind === 'index' ? [subject, subjectOfSuccessor(text)] : subject,
      ),
    )
    const { statements } = await readLive(ask, [
      ...(['types', 'sequences', 'functions', 'columns', 'constraints', 'indexes'] as const),
    ])
    const isOf = ({ head, subject }: Statement) =>
      head === subject ? isInOurs(committed, head) : committed.heads.has(head)
    return { expected: [], live: statements.filter((one) => !known.has(one.subject) && isOf(one)) }
  })

/** What another schema holds is somebody else's. */
function isInOurs(committed: Schema, head: string): boolean {
  const [, schema = 'public'] = /^\S+ ("(?:[^"]|"")*"|\w+)\./.exec(head) ?? []
  return committed.heads.has(`schema ${schema}`)
}

/** What the schema has of these kinds, and what there is of it. Of a table that is missing the columns are not told. */
function missing(kinds: readonly Kind[], parts: Parameters<typeof readLive>[1]): Read {
  return async (ask: Ask, committed: Schema) => {
    const live = await readLive(ask, parts)
    const expected = committed.statements.filter(
      ({ kind, head, subject }) =>
        kinds.includes(kind) && (head === subject || live.heads.has(head)),
    )
    const known = new Set(expected.map(({ subject }) => subject))
    return {
      expected: expected.map(named),
      live: live.statements.filter(({ subject }) => known.has(subject)).map(named),
    }
  }
}

/** What they are made of is compared piece by piece. */
const BY_NAME: readonly Kind[] = ['table', 'view', 'extension']

const named = (one: Statement): Statement =>
  BY_NAME.includes(one.kind) ? { ...one, text: one.subject } : one
