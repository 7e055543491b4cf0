/** Builds indexes while others read and write, as no transaction and no partitioned table lets do at once. */
import type { Index, Indexes, IndexFault, Partition } from './index-state.ts'
import { LOCK_TIMEOUT } from './owner.ts'
import type { Ask } from './schema.ts'
import { NAME } from './statement.ts'

/** @throws when it could not be done; what was left half done is dropped, or goes on the next time */
export async function mendIndex(ask: Ask, fault: IndexFault, found: Indexes): Promise<void> {
  const { statement, index, partitioned, state } = fault
  // What the queue's partitions have is made by its functions, and stands in no schema to build it from.
  if (index && (index.of_constraint || index.attached_to || (!statement && isOfQueue(index))))
    return unhurried(ask, `reindex index concurrently ${index.path}`)
  if (statement && partitioned) {
    // Nothing of a partitioned index is done concurrently: this gives way where the table is busy.
    if (index && state === 'different') await ask(`drop index ${index.path}`)
    return buildOnPartitions(ask, fault, state === 'different' ? { ...found, indexes: [] } : found)
  }
  if (index) await unhurried(ask, `drop index concurrently ${index.path}`)
  if (statement) await build(ask, statement.text)
}

/** An index of the queue, and not what a reindexing has left behind. */
const isOfQueue = ({ table, name }: Index) =>
  table.startsWith('pgboss.') && !/_cc(new|old)\d*$/.test(name)

/** An index's statement, in its pieces: names as they stand in it. */
interface Pieces {
  unique: string
  name: string
  /** With its dot. */
  schema: string
  rest: string
}

const PIECES = new RegExp(
  `^CREATE (?<unique>UNIQUE )?INDEX (?<name>${NAME}) ON (?<schema>${NAME}\\.)?${NAME} (?<rest>.*)$`,
  's',
)

function piecesOf(statement: string): Pieces {
  const { unique = '', name = '', schema = '', rest = '' } = PIECES.exec(statement)?.groups ?? {}
  return { unique, name, schema, rest }
}

/**
 * On one partition after the other, and then, at once, on the table of which they are: what is in its way there
 * is only what writes at that moment. Broken off, it goes on where it was.
 */
async function buildOnPartitions(
  ask: Ask,
  { statement, index, lacking, state }: IndexFault,
  found: Indexes,
): Promise<void> {
  const text = statement?.text ?? ''
  const { name, schema } = piecesOf(text)
  const isThere = index !== undefined && state !== 'different'
  const steps = isThere ? [] : [text.replace(' ON ', ' ON ONLY ')]
  for (const partition of lacking) {
    const attached = found.indexes.find(
      (one) => isThere && one.table === partition.path && one.attached_to === index.path,
    )
    if (attached) await unhurried(ask, `reindex index concurrently ${attached.path}`)
    const part = attached?.path ?? (await buildOn(ask, partition, text, found))
    steps.push(`alter index ${schema}${name} attach partition ${part};`)
  }
  await ask(`set lock_timeout = '900ms'`)
  // Several statements in one message are one transaction.
  await ask(steps.join('\n'))
  await ask(LOCK_TIMEOUT)
}

/** Returns the index of the partition: one that was built before and not attached, or a new one. */
async function buildOn(
  ask: Ask,
  { path: table, name }: Partition,
  statement: string,
  found: Indexes,
): Promise<string> {
  const { unique, name: whole, schema, rest } = piecesOf(statement)
  const [quoted] = await ask<{ name: string }>(
    `select quote_ident(left($1 || '_' || $2, 63)) as name`,
    [name, whole.replaceAll('"', '')],
  )
  const own = quoted?.name ?? ''
  const wanted = `CREATE ${unique}INDEX ${own} ON ${table} ${rest}`
  const before = found.indexes.find((one) => one.table === table && one.quoted === own)
  if (before?.valid && before.definition === wanted) return before.path
  if (before) await unhurried(ask, `drop index concurrently ${before.path}`)
  await build(ask, wanted)
  return `${schema}${own}`
}

const UNIQUE_VIOLATION = '23505'

async function build(ask: Ask, statement: string): Promise<void> {
  const { name, schema } = piecesOf(statement)
  try {
    await unhurried(ask, statement.replace('INDEX ', 'INDEX CONCURRENTLY '))
  } catch (error) {
    await dropInvalid(ask, `${schema}${name}`)
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error
    throw new Error(`${name} is unique, and there are rows that are alike: see the runbook`)
  }
}

async function dropInvalid(ask: Ask, path: string): Promise<void> {
  const left = await ask(
    'select from pg_index where not indisvalid and indexrelid = to_regclass($1)',
    [path],
  )
  if (left.length > 0) await unhurried(ask, `drop index concurrently ${path}`)
}

/**
 * What is done concurrently waits for the transactions of others, and nobody for it. Some hours are for a
 * large table: an end it has, as somebody waits for the repair.
 */
export async function unhurried(ask: Ask, statement: string): Promise<void> {
  await ask(`set lock_timeout = 0; set statement_timeout = '6h'`)
  try {
    await ask(statement)
  } finally {
    await ask(`${LOCK_TIMEOUT}; set statement_timeout = '60s'`)
  }
}
