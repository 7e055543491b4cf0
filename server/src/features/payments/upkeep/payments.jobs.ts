/** Background work of payments: throws away what the inbox has kept for long enough. */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { inBatches } from '../../../lib/in-batches.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import * as store from './upkeep.store.ts'

const UPKEEP = jobKind<Record<string, never>>('payments.maintain', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
const BATCH = 1000
/** Days for which what nobody has proven is kept. */
const MAX_UNVERIFIED_DAYS = 7

export interface UpkeepDeps {
  db: Scopes
  clock: Clock
  /** Days for which notifications are kept (`PAYMENT_INBOX_DAYS`). */
  keepDays: number
}

/** Every hour, as room for unverified ones is what strangers can take up. */
export function keepInboxTidy(deps: UpkeepDeps & { jobs: Jobs }): void {
  deps.jobs.schedule(UPKEEP, '23 * * * *')
  deps.jobs.work(UPKEEP, (_data, { signal }) => tidyInbox(deps, signal))
}

/** Exported for its test. */
export async function tidyInbox(
  { db, clock, keepDays }: UpkeepDeps,
  signal: AbortSignal,
): Promise<void> {
  const before = {
    proven: isoAt(clock, -keepDays * DAY),
    unverified: isoAt(clock, -Math.min(keepDays, MAX_UNVERIFIED_DAYS) * DAY),
  }
  await inBatches(signal, async () => {
    const deleted = await db.acrossTenants((tx) => store.deleteOld(tx, before, BATCH))
    return deleted === BATCH
  })
}
