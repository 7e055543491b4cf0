/** Background work of payments: ends what the inbox has kept for long enough, frees what a wrong clock holds up. */
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
/** Days for which what nobody has proven is kept. */
const MAX_UNVERIFIED_DAYS = 7

export interface UpkeepDeps {
  db: Scopes
  clock: Clock
  /** Days for which notifications are kept (`PAYMENT_INBOX_DAYS`). */
  keepDays: number
  /** Whether paygate is asked what its notifications are worth. */
  isAsked: boolean
}

/** Every hour, as room for unverified ones is what strangers can take up. */
export function keepInboxTidy(deps: UpkeepDeps & { jobs: Jobs }): void {
  deps.jobs.schedule(UPKEEP, '23 * * * *')
  deps.jobs.work(UPKEEP, async (_data, { signal }) =>
    tidyInbox({ ...deps, clock: await deps.db.agreedClock.read() }, signal),
  )
}

/** Exported for its test. */
export async function tidyInbox(
  { db, clock, keepDays, isAsked }: UpkeepDeps,
  signal: AbortSignal,
): Promise<void> {
  const before = {
    proven: isoAt(clock, -keepDays * DAY),
    unverified: isoAt(clock, -Math.min(keepDays, MAX_UNVERIFIED_DAYS) * DAY),
    // Who looks after one that was given up has so long to try it once more, also where this job is tried again.
    ended: isoAt(clock, -HOUR),
  }
  const now = isoAt(clock)
  const beyond = isoAt(clock, MAX_AHEAD_MS)
  const steps = [
    (tx: TenantTx) => store.deleteOld(tx, before, BATCH),
    (tx: TenantTx) => store.giveUpOld(tx, { before: before.proven, now, isAsked }, BATCH),
    (tx: TenantTx) => store.freeBeyond(tx, { beyond, now }, BATCH),
  ]
  for (const step of steps)
    await inBatches(signal, async () => (await db.acrossTenants(step)) === BATCH)
}
