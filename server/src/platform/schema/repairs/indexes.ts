/** Repairs missing and invalid indexes by building them concurrently. */
import type { Fix } from '../../feature/fix.ts'
import { isOurs } from '../schema-queries.ts'
import {
  againstRelease,
  DEFAULT_LIMITS,
  type Ground,
  RUNBOOK,
  requireCommitted,
  type Words,
} from './ground.ts'
import type { AskSchema, Schema } from './schema.ts'

const WORDS: Words = {
  key: 'database.indexes',
  title: 'Indexes are missing or invalid',
  description:
    'An index of the schema is missing on a table or partition, or an interrupted build left an invalid index. Lists become slow, and without a unique index duplicate values are possible.',
  severity: 'high',
  plan: 'Builds missing indexes and rebuilds invalid indexes concurrently, on each partition of a partitioned table. Drops invalid indexes that this release does not use. The time depends on the size of the table and on open transactions.',
  runbook: RUNBOOK,
}

interface Index {
  /** The name of the index in SQL, with its schema if necessary. */
  path: string
  /** The name of the index in findings, such as "index users__email on users". */
  subject: string
  table: string
  attached_to: string | null
  valid: boolean
  is_partitioned: boolean
  has_constraint: boolean
}

const INDEXES = `
  select c.oid::regclass::text as path, format('index %I on %s', c.relname, t.oid::regclass) as subject,
    t.oid::regclass::text as "table", up.inhparent::regclass::text as attached_to,
    i.indisvalid as valid, c.relkind = 'I' as is_partitioned,
    exists (select from pg_constraint where conindid = c.oid) as has_constraint
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
  left join pg_inherits up on up.inhrelid = c.oid
  where t.relkind in ('r', 'p') and ${isOurs('t.relnamespace', 'pg_class', 't.oid')}
  order by t.oid::regclass::text collate "C", c.relname collate "C"`

/** Finds tables with an index build in progress. Every role can see the lock that a build holds. */
const BUILDING = `
  select l.relation::regclass::text as "table"
  from pg_stat_progress_create_index p join pg_locks l on l.pid = p.pid
  where l.locktype = 'relation' and l.mode = 'ShareUpdateExclusiveLock' and l.granted
    and p.datname = current_database()`

interface Table {
  table: string
  /** The names of the partitions. Null if the table is not partitioned. */
  partitions: string[] | null
}

const TABLES = `
  select c.oid::regclass::text as "table", case c.relkind when 'p' then array(
    select inhrelid::regclass::text from pg_inherits where inhparent = c.oid order by 1) end as partitions
  from pg_class c where c.relkind in ('r', 'p') and ${isOurs('c.relnamespace', 'pg_class', 'c.oid')}`

interface Fault {
  subject: string
  state: 'missing' | 'invalid'
  /** The statement that creates the index in this release. Undefined if this release does not have the index. */
  statement: string | undefined
  index: Index | undefined
  partitions: readonly string[] | null
}

export const indexes = (ground: Ground): Fix => ({
  ...WORDS,
  automatic: false,
  detect: againstRelease(ground, async (ask, committed) => {
    const { faults, found } = await findFaults(ask, committed)
    const findings = faults.map(({ subject, state, statement }) => ({
      tenant_id: null,
      subject,
      measured: { state },
      expected: statement ? { statement } : { state: 'valid' },
    }))
    return { findings, looked_at: Math.max(found.length, findings.length) }
  }),
  repair: ({ subject }) =>
    ground.withoutTransaction(async (ask) => {
      const { faults, found } = await findFaults(ask, await requireCommitted(ground, ask))
      const fault = faults.find((one) => one.subject === subject)
      if (!fault) return 'already gone'
      if (fault.partitions) await mendPartitioned(ask, fault, fault.partitions, found)
      else await mend(ask, fault)
      return 'repaired'
    }),
})

async function findFaults(
  ask: AskSchema,
  { statements }: Schema,
): Promise<{ faults: Fault[]; found: readonly Index[] }> {
  const tables = new Map((await ask<Table>(TABLES)).map((one) => [one.table, one.partitions]))
  const found = await readIndexes(ask)
  const known = new Map(
    statements
      .filter(({ kind }) => kind === 'index')
      .map(({ subject, head, text }) => [subject, { table: head.slice('table '.length), text }]),
  )
  const present = new Set(found.map(({ subject }) => subject))
  const missing = [...known].flatMap(([subject, { table, text }]): Fault[] => {
    const partitions = tables.get(table)
    // Skips the indexes of a missing table, because the table has its own finding.
    if (partitions === undefined || present.has(subject)) return []
    return [{ subject, state: 'missing', statement: text, index: undefined, partitions }]
  })
  const invalid = found
    .filter(({ valid }) => !valid)
    .map(
      (index): Fault => ({
        subject: index.subject,
        state: 'invalid',
        statement: known.get(index.subject)?.text,
        index,
        partitions: index.is_partitioned ? (tables.get(index.table) ?? null) : null,
      }),
    )
  return { faults: [...missing, ...invalid], found }
}

/** Reads all indexes. Reports an index as valid while it is being built. */
async function readIndexes(ask: AskSchema): Promise<Index[]> {
  const read = await ask<Index>(INDEXES)
  if (read.every(({ valid }) => valid)) return read
  const building = new Set((await ask<{ table: string }>(BUILDING)).map(({ table }) => table))
  // Reads the indexes again, because a build may have ended after the first read and before the read of the builds in
  // progress.
  const again = await ask<Index>(INDEXES)
  return again.map((one) => ({ ...one, valid: one.valid || building.has(one.table) }))
}

async function mend(ask: AskSchema, { index, statement }: Fault): Promise<void> {
  if (!index) {
    await build(ask, String(statement))
    return
  }
  // Indexes of the job queue's partitions are needed too. Functions of the job queue create them, so the release's
  // schema does not contain them.
  const isNeeded = statement || index.attached_to || index.has_constraint || isOfQueue(index)
  await unhurried(ask, `${isNeeded ? 'reindex index' : 'drop index'} concurrently ${index.path}`)
}

/** Returns whether an index belongs to the job queue and is not a remnant of an interrupted rebuild. */
const isOfQueue = ({ table, path }: Index) =>
  table.startsWith('pgboss.') && !/_cc(new|old)\d*$/.test(path)

/**
 * Builds or rebuilds the index of each partition, and attaches these indexes at the end, because PostgreSQL cannot
 * build a partitioned index concurrently.
 */
async function mendPartitioned(
  ask: AskSchema,
  { index, statement }: Fault,
  partitions: readonly string[],
  found: readonly Index[],
): Promise<void> {
  const parts: string[] = []
  for (const partition of partitions) {
    const own =
      index && found.find((one) => one.table === partition && one.attached_to === index.path)
    if (own && !own.valid) await unhurried(ask, `reindex index concurrently ${own.path}`)
    if (own) parts.push(own.path)
    else if (statement) parts.push(await build(ask, statement, partition))
  }
  if (!index) await ask(String(statement))
  // Attaches all of them. Attaching makes PostgreSQL validate the whole index, even if the partition's index is already
  // attached.
  else for (const part of parts) await ask(`alter index ${index.path} attach partition ${part}`)
}

const PIECES = /^CREATE (UNIQUE )?INDEX (\S+) ON (\S+) (.*)$/s
/** The maximum length of a name. PostgreSQL truncates longer names. */
const MAX_NAME = 63
const UNIQUE_VIOLATION = '23505'

/**
 * Builds the index that the statement describes, or the same index on one partition. Returns the name of the new index.
 * @throws Error if rows have duplicate values for a unique index. The invalid index is then dropped.
 */
async function build(ask: AskSchema, statement: string, partition?: string): Promise<string> {
  const [, unique = '', name = '', whole = '', rest = ''] = PIECES.exec(statement) ?? []
  const table = partition ?? whole
  const ownName = partition
    ? `"${`${partition.slice(partition.indexOf('.') + 1)}_${name}`.replaceAll('"', '').slice(0, MAX_NAME)}"`
    : name
  const path = `${table.slice(0, table.indexOf('.') + 1)}${ownName}`
  if (await isBuilt(ask, path)) return path
  try {
    await unhurried(ask, `CREATE ${unique}INDEX CONCURRENTLY ${ownName} ON ${table} ${rest}`)
  } catch (error) {
    await isBuilt(ask, path)
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error
    throw new Error(`rows have duplicate values for the unique index ${name}. Follow the runbook`)
  }
  return path
}

/** Drops the index if it is invalid, because its build was interrupted. Returns whether a valid index exists. */
async function isBuilt(ask: AskSchema, path: string): Promise<boolean> {
  const [left] = await ask<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [path],
  )
  if (left && !left.valid) await unhurried(ask, `drop index concurrently ${path}`)
  return left?.valid ?? false
}

/**
 * Runs a CONCURRENTLY statement with a time limit of 6 hours. The statement waits for other transactions without
 * blocking them.
 */
async function unhurried(ask: AskSchema, statement: string): Promise<void> {
  await ask(`set lock_timeout = 0; set statement_timeout = '6h'`)
  try {
    await ask(statement)
  } finally {
    await ask(DEFAULT_LIMITS)
  }
}
