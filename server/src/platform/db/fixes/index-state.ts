/** The indexes as they are, those of partitions and those that a build left behind among them; and what is wrong. */
import { isOurs } from '../schema-queries.ts'
import type { Ask, Schema, Statement } from './schema.ts'

export interface Index {
  /** As a statement names it; its name alone, with quotes where it needs them, and without. */
  path: string
  quoted: string
  name: string
  table: string
  /** The statement that makes it; null where it is attached to another, and as that is. */
  definition: string | null
  valid: boolean
  /** Of a partitioned table: it is as valid as those of the partitions. */
  of_partitioned: boolean
  of_constraint: boolean
  attached_to: string | null
}

/** A partition, by its table. */
export interface Partition {
  parent: string
  /** As a statement names it, and alone. */
  path: string
  name: string
}

export interface Indexes {
  indexes: readonly Index[]
  partitions: readonly Partition[]
}

const INDEXES = `
  select c.oid::regclass::text as path, quote_ident(c.relname) as quoted, c.relname as name,
    t.oid::regclass::text as "table",
    case when up.inhparent is null
      then replace(pg_get_indexdef(c.oid, 0, true), ' ON ONLY ', ' ON ') || ';' end as definition,
    i.indisvalid as valid, c.relkind = 'I' as of_partitioned,
    exists (select from pg_constraint where conindid = c.oid and contype in ('p', 'u', 'x')) as of_constraint,
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

/** One that is being built counts as valid: nothing is wrong with it yet. */
export async function readIndexes(ask: Ask): Promise<Indexes> {
  const read = await ask<Index>(INDEXES)
  const partitions = await ask<Partition>(PARTITIONS)
  if (read.every(({ valid }) => valid)) return { indexes: read, partitions }
  const building = new Set((await ask<{ table: string }>(BUILDING)).map(({ table }) => table))
  // Behind it: a build that has ended before is seen by its index.
  const invalid = new Set((await ask<{ path: string }>(INVALID)).map(({ path }) => path))
  const isFine = ({ valid, path, table }: Index) =>
    valid || building.has(table) || !invalid.has(path)
  return { indexes: read.map((one) => ({ ...one, valid: isFine(one) })), partitions }
}

export interface IndexFault {
  /** "index users__email on users". */
  subject: string
  state: 'missing' | 'different' | 'invalid' | 'missing on partitions'
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
  // Those of partitions are looked at with the index that they are attached to.
  const looked = new Set(ofSchema.flatMap(({ index }) => index?.path ?? []))
  const others = found.indexes
    .filter(({ path, attached_to }) => !looked.has(path) && !looked.has(attached_to ?? ''))
    .map((index) => ({
      ...{ subject: subjectOf(index), statement: undefined, index },
      ...{ lacking: [], partitioned: index.of_partitioned },
    }))
  return [...ofSchema, ...others].flatMap((one) => {
    const state = stateOf(one)
    return state ? [{ ...one, state }] : []
  })
}

function lackingOf(statement: Statement, index: Index | undefined, found: Indexes): Partition[] {
  const has = new Set(
    found.indexes
      .filter(({ valid, attached_to }) => valid && index && attached_to === index.path)
      .map(({ table }) => table),
  )
  return found.partitions.filter(
    ({ parent, path }) => parent === tableOf(statement) && !has.has(path),
  )
}

function stateOf({
  statement,
  index,
  lacking,
}: Omit<IndexFault, 'state'>): IndexFault['state'] | undefined {
  if (!index) return 'missing'
  if (statement && index.definition !== statement.text) return 'different'
  if (lacking.length > 0) return 'missing on partitions'
  return index.valid || index.of_partitioned ? undefined : 'invalid'
}
