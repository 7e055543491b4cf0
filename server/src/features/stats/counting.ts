/** Follows the journal and counts its entries. The same transaction advances the consumer's position. */
import { MINUTE } from '../../lib/clock.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { type Follower, follow, type JournalEntry } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { seriesOf } from './series.ts'
import { addCounts, type StatsCount } from './stats.store.ts'

/** The name under which the journal stores this consumer's position. */
export const COUNTING_CONSUMER = 'stats'
const SLOT_MS = 15 * MINUTE
const BATCH = 2_000

type Counted = Pick<JournalEntry, 'tenant_id' | 'action' | 'created_at'>

/** Counts entries once per poll instead of at each notification, so that a poll writes a row once for many entries. */
export function countEntries(db: Scopes, log: Logger): Follower {
  return follow(db, log, {
    name: COUNTING_CONSUMER,
    columns: ['tenant_id', 'action', 'created_at'],
    includesAccesses: true,
    batch: BATCH,
    handle: async (tx, entries) => countBatch(tx, entries),
  })
}

/** Adds a batch of entries to the counts. */
export function countBatch(tx: TenantTx, entries: readonly Counted[]): void {
  const tallies = new Map<string, StatsCount>()
  addTallies(
    tallies,
    entries.map((entry) => ({ ...entry, count: 1 })),
  )
  if (tallies.size > 0) addCounts(tx, [...tallies.values()])
}

/** Adds entries to sums that are identified by tenant, series and slot. */
export function addTallies(
  tallies: Map<string, StatsCount>,
  entries: readonly (Counted & { count: number })[],
): void {
  for (const { tenant_id, action, created_at, count } of entries) {
    const slot = new Date(Math.floor(Date.parse(created_at) / SLOT_MS) * SLOT_MS).toISOString()
    for (const series of seriesOf(action)) {
      const key = `${tenant_id} ${series} ${slot}`
      const tally = tallies.get(key)
      if (tally) tally.count += count
      else tallies.set(key, { tenant_id, series, slot, count })
    }
  }
}
