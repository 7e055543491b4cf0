/** Assembles the feature that counts what happens over time (ADR 0041). */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { COUNTING_CONSUMER, countEntries } from './counting.ts'
import { type OnRebuildProgress, type RebuiltCounts, rebuildCounts } from './rebuild.ts'
import { statsOperations } from './stats.routes.ts'
import { statsService } from './stats.service.ts'
import { purgeCounts } from './stats.store.ts'
import { STATS_TABLES } from './stats.table.ts'

export interface StatsFeature extends Feature {
  /** Counts the whole journal again and replaces the stored counts. */
  rebuild(onProgress?: OnRebuildProgress): Promise<RebuiltCounts>
}

export function openStats({
  db,
  clock,
  log,
  readers,
}: Needs<'db' | 'clock' | 'log' | 'readers'>): StatsFeature {
  readers.add(COUNTING_CONSUMER, { includesAccesses: true })
  return {
    name: 'stats',
    tables: STATS_TABLES,
    operations: statsOperations(statsService(db, clock)),
    background: () => countEntries(db.withPatience(), log),
    purgeRows: purgeCounts,
    rebuild: (onProgress) => rebuildCounts(db.withPatience(), onProgress),
  }
}
