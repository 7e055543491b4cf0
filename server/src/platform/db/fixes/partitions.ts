/** The fixes of partitions, which the schema's dump leaves out as they are made by date. */
import { sql } from 'kysely'
import type { Finding, Fix } from '../../fix.ts'
import { APP_ROLE, PLATFORM_ROLE } from '../connection.ts'
import { grants, isOurs, ofColumn } from '../schema-queries.ts'
import type { TenantTx } from '../transaction.ts'
import { drift, type Words } from './drift.ts'
import { askIn, type Ground } from './ground.ts'
import type { Statement } from './schema.ts'
import { kindOf, subjectOf } from './statement.ts'

const RUNBOOK = 'schema-drift.md'

const AHEAD = {
  key: 'database.partitions',
  title: 'Partitions of the journal or of deliveries are missing',
  description:
    'The journal has no partition for this month or the next, or deliveries have none for today or tomorrow: from that day on nothing that is journaled can be written, or no webhook is sent. Each node makes them ahead; one that could not has logged why.',
  severity: 'high',
  plan: 'Makes the partitions, as each node does at its start and every few hours.',
  runbook: RUNBOOK,
} as const

/** Less than is made ahead: what is made late is not missing yet. */
const NEEDED = `
  with today as (select (now() at time zone 'UTC')::date as day),
  needed as (
    select parent, parent
      || to_char(date_trunc('month', day::timestamp) + make_interval(months => ahead), '_YYYY_MM') as part
    from today, unnest('{journal,journal_resources}'::text[]) parent, generate_series(0, 1) ahead
    union all
    select parent, parent || to_char(day + ahead, '_YYYY_MM_DD')
    from today, unnest('{webhook_attempts,webhook_deliveries}'::text[]) parent, generate_series(0, 1) ahead)
  select parent, part, exists (
    select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass('public.' || parent) and c.relname = part) as there
  from needed order by part`

interface Needed {
  parent: string
  part: string
  there: boolean
}

export const partitionsAhead = (ground: Ground): Fix => ({
  ...AHEAD,
  automatic: true,
  async detect(tx) {
    const ask = askIn(tx)
    const needed = (await ground.committed(ask)) ? await ask<Needed>(NEEDED) : []
    const missing = needed.filter(({ there }) => !there)
    return { findings: missing.map(findingOf), looked_at: needed.length }
  },
  repair: (finding, repairing) =>
    repairing(async (tx) => {
      if (!(await missingOf(tx, finding))) return 'already gone'
      await sql`select ensure_journal_partitions(2), ensure_webhook_partitions(
        (now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + 2)`.execute(tx.db)
      const still = await missingOf(tx, finding)
      if (still) throw new Error(`${still.part} is a table, and no partition of ${still.parent}`)
      return 'repaired'
    }),
})

const findingOf = ({ parent, part }: Needed): Finding => ({
  tenant_id: null,
  subject: `partition ${part}`,
  measured: { state: 'missing' },
  expected: { partition_of: parent },
})

async function missingOf(tx: TenantTx, { subject }: Finding): Promise<Needed | undefined> {
  const needed = await askIn(tx)<Needed>(NEEDED)
  return needed.find((one) => !one.there && findingOf(one).subject === subject)
}

const SECURITY: Words = {
  key: 'database.partition_security',
  title: 'A partition is not guarded as its table is',
  description:
    'A partition lacks row-level security, its force or the trigger that refuses to empty it, or has policies, privileges or triggers of its own: whoever names it goes past its table. Partitions are to be reached through their table alone.',
  severity: 'critical',
  plan: 'Puts the partition under what its table has in the schema of this release, and takes away what it has beside that, in one transaction.',
  runbook: RUNBOOK,
}

export const partitionSecurity = (ground: Ground): Fix =>
  drift(ground, SECURITY, async (ask, committed) => {
    const parts = (await ask<Part>(PARTS)).filter(({ parent }) =>
      committed.heads.has(`table ${parent}`),
    )
    const guards = Map.groupBy(committed.statements.filter(isGuard), ({ head }) => head)
    const guardsOf = ({ parent }: Part) => guards.get(`table ${parent}`) ?? []
    return {
      expected: parts.flatMap((part) => guardsOf(part).map((guard) => inPlaceOf(guard, part))),
      live: parts.flatMap((part) =>
        part.lines
          .map((line) => statementOf(part, line))
          .filter((one) => guardsOf(part).length > 0 || !isOfService(one)),
      ),
    }
  })

/** What a table hands on to none of its partitions. */
const isGuard = ({ kind, text }: Statement) =>
  kind === 'row security' || (kind === 'trigger' && text.includes(' TRUNCATE ON '))

/** What the guard of the table is for its partition. */
function inPlaceOf(guard: Statement, { name, parent }: Part): Statement {
  const text = guard.text
    .replace(`ALTER TABLE ${parent} `, () => `ALTER TABLE ${name} `)
    .replace(` ON ${parent} `, () => ` ON ${name} `)
  return { ...guard, text, subject: subjectOf(guard.kind, text), head: `table ${name}` }
}

function statementOf({ name }: Part, text: string): Statement {
  const kind = kindOf(text)
  return { kind, subject: subjectOf(kind, text), head: `table ${name}`, text }
}

/** Where rows are no tenant's, the service may name the partition. */
const isOfService = ({ subject }: Statement) =>
  subject.endsWith(` to ${APP_ROLE}`) || subject.endsWith(` to ${PLATFORM_ROLE}`)

interface Part {
  name: string
  parent: string
  /** What hangs on it alone, as statements; of a policy only what is needed to drop it. */
  lines: string[]
}

const PARTS = `
  with part as (
    select c.oid, c.relrowsecurity, c.relforcerowsecurity, c.relacl, c.relowner, c.oid::regclass::text as name, i.inhparent::regclass::text as parent
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where c.relispartition and c.relkind in ('r', 'p') and ${isOurs('c.relnamespace', 'pg_class', 'c.oid')})
  select name, parent, array(
    select line from (
      select 1 as rank, format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY;', name) as line where relrowsecurity
      union all
      select 2, format('ALTER TABLE %s FORCE ROW LEVEL SECURITY;', name) where relforcerowsecurity
      union all
      select 3, format('CREATE POLICY %I ON %s;', polname, name) from pg_policy where polrelid = part.oid
      union all
      select 4, line from (${grants('', 'name', 'relacl', 'relowner')}) of_table
      union all
      select 5, line from pg_attribute a
      cross join lateral (${grants('', 'name', 'a.attacl', 'relowner', ofColumn('a.attname'))}) of_column
      where a.attrelid = part.oid and not a.attisdropped
      union all
      select 6, pg_get_triggerdef(oid, true) || ';' from pg_trigger
      where tgrelid = part.oid and not tgisinternal and tgparentid = 0
    ) own order by rank, line collate "C") as lines
  from part order by name collate "C"`
