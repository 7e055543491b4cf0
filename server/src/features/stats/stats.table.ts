import type { RestoreRules } from '../../platform/feature/restore-rule.ts'

/** The number of events of one series in one slot, a quarter of an hour. */
export interface StatsTable {
  tenant_id: number | null
  series: string
  slot: string
  /** The histogram bucket of the duration (`durations.ts`). 0 for series without durations. */
  step: number
  count: number
}

/** Like the journal: a restore changes data, but not what happened. */
export const STATS_TABLES = { stats: 'kept' } as const satisfies RestoreRules

declare module '../../platform/db/database.ts' {
  interface Database {
    stats: StatsTable
  }
}
