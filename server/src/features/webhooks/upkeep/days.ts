/** Creates the daily partitions of deliveries ahead of time. */
import { HOUR } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { Upkeep } from '../../../platform/lifecycle/upkeep.ts'
import * as store from './upkeep.store.ts'

/** Creates missing partitions for today, the next two days, and the days since `from` (ISO 8601). */
export function ensureWebhookDays(db: Scopes, from: string | null = null): Promise<number> {
  return db.acrossTenants((tx) => store.ensureDays(tx, from, 2))
}

/** Creates partitions ahead of time (idempotent). Startup waits only for those of today and tomorrow. */
export const daysUpkeep = (db: Scopes): Upkeep[] => [
  {
    what: 'creation of delivery partitions for today and tomorrow',
    everyMs: 6 * HOUR,
    isNeededToServe: true,
    run: () => db.acrossTenants((tx) => store.ensureDays(tx, null, 1)),
  },
  {
    what: 'creation of future delivery partitions',
    everyMs: 6 * HOUR,
    isNeededToServe: false,
    run: () => ensureWebhookDays(db),
  },
]
