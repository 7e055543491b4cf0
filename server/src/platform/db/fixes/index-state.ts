/** The indexes as they are, those of partitions and those that a build left behind among them; and what is wrong. */
import { LOCKS } from '../lock-numbers.ts'
import { isOurs } from '../schema-queries.ts'
import { onPartition, type Partition, successorOf } from './index-names.ts'
import type { Ask, Schema, Statement } from './schema.ts'
import { subjectOf as subjectOfStatement } from './statement.ts'

export interface Index {
  /** As a statement names it; its name alone, with quotes where it needs them, and without. */
  path: string
  quoted: string
  name: string
  table: string
  /** The statement that makes it, wherever and however it is stored; null where it is attached to another, and as that is. */
  definition: string | null
  valid: boolean
  /** It is not valid, and may be under construction: nothing is wrong with it yet. */
  building: boolean
  /** Of a partitioned table: it is as valid as those of the partitions. */
  of_partitioned: boolean
  /** What cannot be without it: a constraint of its own, a foreign key to it, or the identity of replicated rows. */
  held_by: string | null
  attached_to: string | null
}

export interface Indexes {
  indexes: readonly Index[]
  partitions: readonly Partition[]
  /** Whether somebody else repairs now: what is beside an index waits for its place. */
  repairing: boolean
}

/** Storage parameters in the server's own words: whoever tunes them changes nothing of what an index holds. */
const STORAGE = `
  select ' WITH (' || string_agg(name || '=' || case quote_ident(value) when value then value else quote_literal(value) end,
    ', ' order by place) || ')'
  from unnest(c.reloptions) with ordinality as parameter (text, place),
    lateral (select split_part(text, '=', 1) as name, substr(text, strpos(text, '=') + 1) as value) parts`

const INDEXES = `
  select c.oid::regclass::text as path, quote_ident(c.relname) as quoted, c.relname as name,
    t.oid::regclass::text as "table",
    case when up.inhparent is null
      then replace(replace(pg_get_indexdef(c.oid, 0, true), ' ON ONLY ', ' ON '), coalesce((${STORAGE}), ''), '') || ';'
      end as definition,
    i.indisvalid as valid, false as building, c.relkind = 'I' as of_partitioned,
    coalesce((select min(format('constraint %I of %s', conname, conrelid::regclass)) from pg_constraint where conindid = c.oid),
      case when i.indisreplident then format('the replica identity of %s', t.oid::regclass) end) as held_by,
    up.inhparent::regclass::text as attached_to
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
  left join pg_inherits up on up.inhrelid = c.oid
  where t.relkind in ('r', 'p') and ${isOurs('t.relnamespace', 'pg_class', 't.oid')}
  order by t.oid::regclass::text collate "C", c.relname collate "C"`

/** The tables of which an index is being built: its lock tells it to those who may not see more of a build. */
const BUILDING = `
  select l.relation::regclass::text as "table"
  from pg_stat_progress_create_index p join pg_locks l on l.pid = p.pid
  where l.locktype = 'relation' and l.mode = 'ShareUpdateExclusiveLock' and l.granted
    and p.datname = current_database()`

const INVALID = 'select indexrelid::regclass::text as path from pg_index where not indisvalid'

const PARTITIONS = `
  select i.inhparent::regclass::text as parent, c.oid::regclass::text as path, c.relname as name
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where c.relispartition and c.relkind = 'r' order by c.oid::regclass::text collate "C"`

const REPAIRING = `
  select exists (
    select from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and (l.classid, l.objid, l.objsubid) = (0, ${LOCKS.schemaRepair}, 1)
      and d.datname = current_database() and l.pid <> pg_backend_pid()) as repairing`

export async function readIndexes(ask: Ask): Promise<Indexes> {
  // Ahead of them: what a repair has left that was over before is left over.
  const [other] = await ask<{ repairing: boolean }>(REPAIRING)
  const repairing = other?.repairing ?? false
  const read = await ask<Index>(INDEXES)
  const partitions = await ask<Partition>(PARTITIONS)
  if (read.every(({ valid }) => valid)) return { indexes: read, partitions, repairing }
  const atWork = new Set((await ask<{ table: string }>(BUILDING)).map(({ table }) => table))
  // Behind it: a build that has ended before is seen by its index.
  const invalid = new Set((await ask<{ path: string }>(INVALID)).map(({ path }) => path))
  const indexes = read.map((one) => {
    const valid = one.valid || !invalid.has(one.path)
    return { ...one, valid, building: !valid && atWork.has(one.table) }
  })
  return { indexes, partitions, repairing }
}

export interface IndexFault {
  /** "index users__email on users". */
  subject: string
  state: 'missing' | 'different' | 'invalid' | 'missing on partitions' | 'left over'
  /** As the schema has it; undefined of one that it does not know. */
  statement: Statement | undefined
  index: Index | undefined
  /** Whether its table is. */
  partitioned: boolean
  /** The partitions without a valid index of it. */
  lacking: readonly Partition[]
}

const subjectOf = ({ quoted, table }: Index) => `index ${quoted} on ${table}`
const tableOf = ({ head }: Statement) => head.slice('table '.length)

/** What is wrong with the indexes of the schema, and which are left over from builds. */
export function indexFaults(committed: Schema, live: Schema, found: Indexes): IndexFault[] {
  const bySubject = new Map(found.indexes.map((index) => [subjectOf(index), index]))
  const partitioned = new Set(
    committed.statements
      .filter(({ kind, text }) => kind === 'table' && text.includes('\n) PARTITION BY '))
      .map(({ head }) => head),
  )
  const ofSchema = committed.statements
    .filter(({ kind, head }) => kind === 'index' && live.heads.has(head))
    .map((statement) => {
      const index = bySubject.get(statement.subject)
      // None of the partitions has it where it is another.
      const lacking = lackingOf(
        statement,
        index?.definition === statement.text ? index : undefined,
        found,
      )
      const { subject, head } = statement
      return { subject, statement, index, lacking, partitioned: partitioned.has(head) }
    })
  const faults = ofSchema.flatMap((one) => withState(one, stateOf(one)))
  return [...faults, ...leftFaults(ofSchema, faults, found)]
}

type Looked = Omit<IndexFault, 'state'>

const withState = (one: Looked, state: IndexFault['state'] | undefined): IndexFault[] =>
  state ? [{ ...one, state }] : []

/** Those that the schema does not know: of builds that were broken off, and of repairs. */
function leftFaults(
  ofSchema: readonly Looked[],
  faults: readonly IndexFault[],
  found: Indexes,
): IndexFault[] {
  // Those of partitions are looked at with the index that they are attached to.
  const looked = new Set(ofSchema.flatMap(({ index }) => index?.path ?? []))
  const made = madeByRepairs(ofSchema, found)
  const inRepair = new Set(faults.map(({ subject }) => subject))
  return found.indexes
    .filter(({ path, attached_to }) => !looked.has(path) && !looked.has(attached_to ?? ''))
    .flatMap((index) => {
      const subject = subjectOf(index)
      const partitioned = index.of_partitioned
      const one = { subject, statement: undefined, index, lacking: [], partitioned }
      const whose = index.attached_to ? undefined : made.get(subject)
      if (whose === undefined) return withState(one, stateOf(one))
      // Where its index is at fault, the repair of that goes on with it.
      const waits = found.repairing || inRepair.has(whose)
      return withState(one, waits ? undefined : 'left over')
    })
}

/** What repairs make beside an index, and on its partitions for it to take: each with the subject of the index. */
function madeByRepairs(ofSchema: readonly Looked[], { partitions }: Indexes): Map<string, string> {
  return new Map(
    ofSchema.flatMap(({ subject, statement }) => {
      if (!statement) return []
      const ofParts = partitions
        .filter(({ parent }) => parent === tableOf(statement))
        .map((part) => onPartition(statement.text, part))
      const made = [
        ...[statement.text, ...ofParts].map(subjectOfSuccessor),
        ...ofParts.map((text) => subjectOfStatement('index', text)),
      ]
      return made.map((one) => [one, subject] as const)
    }),
  )
}

export const subjectOfSuccessor = (statement: string): string =>
  subjectOfStatement('index', successorOf(statement))

function lackingOf(statement: Statement, index: Index | undefined, found: Indexes): Partition[] {
  const has = new Set(
    found.indexes
      .filter((one) => isFine(one) && index && one.attached_to === index.path)
      .map(({ table }) => table),
  )
  return found.partitions.filter(
    ({ parent, path }) => parent === tableOf(statement) && !has.has(path),
  )
}

const isFine = ({ valid, building }: Index) => valid || building

function stateOf({ statement, index, lacking }: Looked): IndexFault['state'] | undefined {
  if (!index) return 'missing'
  if (statement && index.definition !== statement.text) return 'different'
  if (lacking.length > 0) return 'missing on partitions'
  return isFine(index) || index.of_partitioned ? undefined : 'invalid'
}
