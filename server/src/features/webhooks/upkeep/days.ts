/** Keeps the daily partitions of deliveries ahead of the calendar. */
import { HOUR } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { Upkeep } from '../../../platform/upkeep.ts'
import * as store from './upkeep.store.ts'

/**
 * Makes the partitions of today and the next two days, and those of the days since `from` (ISO 8601),
 * where missing. Returns how many it made.
 */
export function ensureWebhookDays(db: Scopes, from: string | null = null): Promise<number> {
  return db.acrossTenants((tx) => store.ensureDays(tx, from, 2))
}

/** Keeps them ahead, on every node: making them twice is harmless. What is wanted later holds no start up. */
export const daysUpkeep = (db: Scopes): Upkeep[] => [
  {
    what: 'making partitions of deliveries of today and tomorrow',
    everyMs: 6 * HOUR,
    isNeededToServe: true,
    run: () => db.acrossTenants((tx) => store.ensureDays(tx, null, 1)),
  },
  {
    what: 'making partitions of deliveries ahead',
    everyMs: 6 * HOUR,
    isNeededToServe: false,
    run: () => ensureWebhookDays(db),
  },
]
