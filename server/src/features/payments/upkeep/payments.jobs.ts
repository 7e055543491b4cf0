/** Maintains the payment inbox: deletes old notifications, and releases notifications delayed by a wrong clock. */
import { type Clock, DAY, HOUR, isoAt } from '../../../lib/clock.ts'
import { inBatches } from '../../../lib/in-batches.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { MAX_AHEAD_MS } from '../inbox/claims.store.ts'
import * as store from './upkeep.store.ts'

const UPKEEP = jobKind<Record<string, never>>('payments.maintain', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
const BATCH = 1000
/** The number of days for which unverified notifications are stored. */
const MAX_UNVERIFIED_DAYS = 7

export interface PaymentUpkeepDeps {
  db: Scopes
  clock: Clock
  /** The number of days for which notifications are stored (`PAYMENT_INBOX_DAYS`). */
  keepDays: number
  /** True if the service can query paygate's API to confirm notifications. */
  isAsked: boolean
}

/** Schedules the maintenance every hour, because strangers can use up the limit of unverified notifications. */
export function keepInboxTidy(deps: PaymentUpkeepDeps & { jobs: Jobs }): void {
  deps.jobs.schedule(UPKEEP, '23 * * * *')
  deps.jobs.work(UPKEEP, async (_data, { signal }) =>
    tidyInbox({ ...deps, clock: await deps.db.agreedClock.read() }, signal),
  )
}

/** Deletes, fails or releases outdated notifications in batches. Exported for its test. */
export async function tidyInbox(
  { db, clock, keepDays, isAsked }: PaymentUpkeepDeps,
  signal: AbortSignal,
): Promise<void> {
  const before = {
    verified: isoAt(clock, -keepDays * DAY),
    unverified: isoAt(clock, -Math.min(keepDays, MAX_UNVERIFIED_DAYS) * DAY),
    // Keeps a failed notification for an hour, so that operators can retry it even if this job runs again.
    ended: isoAt(clock, -HOUR),
  }
  const now = isoAt(clock)
  const beyond = isoAt(clock, MAX_AHEAD_MS)
  const steps = [
    (tx: TenantTx) => store.deleteOld(tx, before, BATCH),
    (tx: TenantTx) => store.giveUpOld(tx, { before: before.verified, now, isAsked }, BATCH),
    (tx: TenantTx) => store.freeBeyond(tx, { beyond, now }, BATCH),
  ]
  for (const step of steps)
    await inBatches(signal, async () => (await db.acrossTenants(step)) === BATCH)
}
