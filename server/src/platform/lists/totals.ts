/**
 * Caches totals of lists with the snapshot in which they were counted. Triggers record in `list_writes` which
 * transactions changed the tables of a list. If a later page sees no new record, the total is unchanged. This works for
 * the writes of all nodes.
 */
import { LRUCache } from 'lru-cache'
import { Outpaced } from '../db/failures.ts'

/** A total, and the snapshot in which it was counted, in PostgreSQL's text format. */
export interface Counted {
  total: number
  estimated: boolean
  snapshot: string
}

/** The totals that one node has cached, by list, scope and filters. */
export type Totals = LRUCache<string, Counted>

const MAX_REMEMBERED = 1_000
/**
 * The maximum age of a cached total. It is half the time after which recorded writes are deleted, so no cached total
 * outlives them.
 */
const MAX_AGE_MS = 60_000

export function openTotals(): Totals {
  return new LRUCache({ max: MAX_REMEMBERED, ttl: MAX_AGE_MS })
}

/** Thrown if rows must be counted although the transaction has ended early. The work then runs again. */
export class OldTotal extends Outpaced {}
