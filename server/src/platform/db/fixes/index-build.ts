/**
 * Builds indexes while others read and write, as no transaction and no partitioned table lets do at once. What
 * is in place and valid holds what it holds until its successor stands: both change places in one transaction.
 */
import type { Time } from '../../../lib/time.ts'
import { onPartition, piecesOf, successorOf } from './index-names.ts'
import type { Index, Indexes, IndexFault } from './index-state.ts'
import { LOCK_TIMEOUT } from './owner.ts'
import type { Ask } from './schema.ts'

/** @throws when it could not be done; what was left half done is dropped, or gone on with the next time */
export async function mendIndex(
  ask: Ask,
  clock: Time,
  fault: IndexFault,
  found: Indexes,
): Promise<void> {
  const { statement, index, partitioned, state } = fault
  // What the queue's partitions have is made by its functions, and stands in no schema to build it from.
  const isOthers = index?.held_by || index?.attached_to || (!statement && index && isOfQueue(index))
  if (index && isOthers && state === 'invalid')
    return unhurried(ask, `reindex index concurrently ${index.path}`)
  if (!statement) return index && unhurried(ask, `drop index concurrently ${index.path}`)
  if (index?.held_by && state === 'different') throw new Error(byHand(index))
  const steps = partitioned
    ? await prepareOnPartitions(ask, fault, found)
    : await prepare(ask, statement.text, found)
  await takePlace(ask, clock, piecesOf(statement.text).name, steps)
}

/** An index of the queue, and not what a reindexing has left behind. */
const isOfQueue = ({ table, name }: Index) =>
  table.startsWith('pgboss.') && !/_cc(new|old)\d*$/.test(name)

/** Under another name it is in nobody's way, and holds on: nothing else takes what rests on it to its successor. */
const byHand = ({ path, quoted, held_by }: Index) =>
  `${quoted} cannot be replaced, as ${held_by} rests on it: give it another name (alter index ${path} rename to …), confirm again, and drop it once nothing rests on it`

/**
 * Has an index ready beside what is in its place.
 * @returns the steps by which it takes that place; none where it stands there already
 */
async function prepare(ask: Ask, statement: string, found: Indexes): Promise<string[]> {
  const { name, schema } = piecesOf(statement)
  const inPlace = await soundOf(ask, statement, found)
  if (inPlace?.definition === statement) return []
  const successor = successorOf(statement)
  const ready = await soundOf(ask, successor, found)
  if (!inPlace && !ready) {
    await build(ask, statement, name)
    return []
  }
  if (ready?.definition !== successor) {
    if (ready) await unhurried(ask, `drop index concurrently ${ready.path}`)
    await build(ask, successor, name)
  }
  return [
    // One that is attached to another goes with that.
    ...(inPlace && !inPlace.attached_to ? [`drop index ${inPlace.path};`] : []),
    `alter index ${schema}${piecesOf(successor).name} rename to ${name};`,
  ]
}

/** The index that has the name of this one. What is invalid holds nothing, and is dropped at once. */
async function soundOf(ask: Ask, statement: string, found: Indexes): Promise<Index | undefined> {
  const { name, schema, table } = piecesOf(statement)
  const index = found.indexes.find(
    (one) => one.table === `${schema}${table}` && one.quoted === name,
  )
  if (!index || index.valid || index.attached_to) return index
  if (index.building)
    throw new Error(`somebody builds an index on ${index.table}: confirm again when that has ended`)
  await unhurried(ask, `drop index concurrently ${index.path}`)
  return undefined
}

/**
 * The same on one partition after the other, as nothing of a partitioned index is done concurrently. Its steps
 * end with the index of the table, which takes those of the partitions as its own. A partition that has come
 * meanwhile gets its own there, as yet with hardly a row.
 */
async function prepareOnPartitions(
  ask: Ask,
  { statement, index, lacking, state }: IndexFault,
  found: Indexes,
): Promise<string[]> {
  const text = statement?.text ?? ''
  const whole = state === 'missing on partitions' ? index : undefined
  const steps = index && !whole ? [`drop index ${index.path};`] : []
  const attaching: string[] = []
  for (const partition of lacking) {
    const attached = found.indexes.find(
      (one) => whole && one.table === partition.path && one.attached_to === whole.path,
    )
    const own = onPartition(text, partition)
    if (attached) await unhurried(ask, `reindex index concurrently ${attached.path}`)
    else steps.push(...(await prepare(ask, own, found)))
    const { schema, name } = piecesOf(own)
    // One that is attached already is looked at again, and the whole is valid with it.
    const part = attached?.path ?? `${schema}${name}`
    attaching.push(`alter index ${whole?.path} attach partition ${part};`)
  }
  return [...steps, ...(whole ? attaching : [text])]
}

const TRIES = 5
/** In between, who had to wait behind this one goes on. */
const REST_MS = 1_000
/** A lock that was not to be had, or a deadlock. */
const HELD: readonly (string | undefined)[] = ['55P03', '40P01']
const AS_BEFORE = `${LOCK_TIMEOUT}; set statement_timeout = '60s'`

/** All steps or none: several statements in one message are one transaction. What was built stays, for the next time. */
async function takePlace(
  ask: Ask,
  clock: Time,
  name: string,
  steps: readonly string[],
): Promise<void> {
  if (steps.length === 0) return
  for (let tries = 1; ; tries++) {
    // Shorter than the server waits before it looks for a deadlock: this gives way, and nobody else. The last
    // time it waits longer, as the server then ends an automatic vacuum that is in the way.
    const wait = tries < TRIES ? `set lock_timeout = '900ms'` : LOCK_TIMEOUT
    await ask(`${wait}; set statement_timeout = '5s'`)
    try {
      await ask(steps.join('\n'))
      break
    } catch (error) {
      if (!HELD.includes((error as { code?: string }).code)) throw error
      if (tries === TRIES)
        throw new Error(
          `${name} is built, and a transaction that holds the table keeps it from its place: confirm again when that has ended, or end it as the runbook says`,
        )
      await clock.delay(REST_MS)
    }
  }
  await ask(AS_BEFORE)
}

const UNIQUE_VIOLATION = '23505'

/** @param name what operators know it by */
async function build(ask: Ask, statement: string, name: string): Promise<void> {
  try {
    await unhurried(ask, statement.replace('INDEX ', 'INDEX CONCURRENTLY '))
  } catch (error) {
    const built = piecesOf(statement)
    await dropInvalid(ask, `${built.schema}${built.name}`)
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
    await ask(AS_BEFORE)
  }
}
