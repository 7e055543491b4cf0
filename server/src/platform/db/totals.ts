/**
 * Totals of lists, remembered with the snapshot in which they were counted. The tables note in
 * `list_writes` which transactions have changed what counts; where the snapshot of a later page
 * shows none that the earlier one did not show, the total is the same, on whichever node it was.
 */
import { LRUCache } from 'lru-cache'
import { Outpaced } from './failures.ts'

/** A total as it was counted in a snapshot, which is kept as PostgreSQL's own text. */
export interface Counted {
  total: number
  estimated: boolean
  snapshot: string
}

/** The totals that one node remembers, by list, scope and filters. */
export type Totals = LRUCache<string, Counted>

const MAX_REMEMBERED = 1_000
/** Half of the time after which a write is forgotten. */
const MAX_AGE_MS = 60_000

export function openTotals(): Totals {
  return new LRUCache({ max: MAX_REMEMBERED, ttl: MAX_AGE_MS })
}

/** Thrown behind the end of a transaction where its total has still to be counted: it is to run again. */
export class OldTotal extends Outpaced {}
