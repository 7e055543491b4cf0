/** Keeps the daily partitions of deliveries ahead of the calendar. */
import { HOUR } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import * as store from './upkeep.store.ts'

const LOOK_EVERY_MS = 6 * HOUR

/**
 * Makes the partitions of today and the next two days, and those of the days since `from` (ISO 8601),
 * where missing. Answers how many it made.
 */
export function ensureWebhookDays(db: Scopes, from: string | null = null): Promise<number> {
  return db.acrossTenants((tx) => store.ensureDays(tx, from))
}

/** Looks again every six hours, on every node: making them twice is harmless. Answers how to stop. */
export function keepWebhookDaysAhead(db: Scopes, log: Logger): () => void {
  const timer = setInterval(
    () => void canFail(ensureWebhookDays(db), 'making partitions of deliveries ahead', log),
    LOOK_EVERY_MS,
  )
  timer.unref()
  return () => clearInterval(timer)
}
