/** Decides whether the service wrote an entry, from the mark in the journal. */
import { DAY } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import {
  type Commitments,
  isMarkedBy,
  type JournalEntry,
  MARK_COLUMNS,
  SALT_BYTES,
  type Salts,
} from '../../../platform/journal/index.ts'
import type { LeafMark } from './leaf.ts'
import * as store from './logs.store.ts'

/** How long nodes of the older release may write entries without marks after the upgrade, in milliseconds. */
const OLDER_NODES_MS = DAY

/**
 * Returns the mark for the leaf of an entry. Must be called in the order of the journal. @param lastSealed the time of
 * the last leaf before the batch in the same log
 */
type VerifyMark = (input: LeafInput, lastSealed: string | null) => LeafMark

/** An entry to seal, with the commitments of its leaf. */
export interface LeafInput {
  entry: JournalEntry
  commitments: Commitments
}

/** Returns a function that verifies the marks of a batch of entries. */
export async function openMarks(tx: TenantTx, batch: readonly LeafInput[]): Promise<VerifyMark> {
  const { current: key } = tx.entryKey
  if (!key) throw new Error('the key of journal entries was not read')
  const salted = batch.filter(({ entry }) => entry.who_salt !== null)
  const [known, since] = await Promise.all([
    store.findReused(
      tx,
      salted.flatMap(({ entry }) => entry.who_salt ?? []),
      salted.map(({ commitments }) => commitments.who),
    ),
    batch.some(({ entry }) => isUnmarked(entry)) ? store.findMarksSince(tx) : null,
  ])
  const used = new Set(known.salts.map((salt) => salt.toString('base64')))
  const erased = new Set(known.commitments)
  const unmarkedUntil =
    since === null ? Number.NEGATIVE_INFINITY : Date.parse(since) + OLDER_NODES_MS
  return ({ entry, commitments }, lastSealed) => {
    if (isUnmarked(entry)) {
      // A log that has passed the end of the period can no longer get older entries.
      const times = [entry.created_at, ...(lastSealed === null ? [] : [lastSealed])]
      return times.every((time) => Date.parse(time) < unmarkedUntil) ? 'none' : 'bad'
    }
    // A copy of a genuine entry has a genuine MAC, but salts that belong to another leaf, which may be erased.
    const salt = entry.who_salt?.toString('base64') ?? ''
    const isCopy = used.has(salt) || erased.has(commitments.who)
    used.add(salt)
    return !isCopy && isMarkedBy(key, entry, commitments) ? 'ok' : 'bad'
  }
}

const isUnmarked = (entry: JournalEntry) => MARK_COLUMNS.every((column) => entry[column] === null)

/** Returns the salts of an entry, or undefined if it has none that can be used. */
export function saltsOf({ who_salt: who, what_salt: what }: JournalEntry): Salts | undefined {
  return who?.length === SALT_BYTES && what?.length === SALT_BYTES ? { who, what } : undefined
}
