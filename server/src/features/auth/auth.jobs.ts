/** Deletes what sign-in no longer needs: sessions, tokens and counts that are over, in small batches. */

import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import { purgeThrottles } from '../../platform/throttle/index.ts'
import * as store from './purge.store.ts'

const PURGE = jobKind<Record<string, never>>('auth.purge', {
  retries: 2,
  retryDelaySeconds: 60,
  retryBackoff: true,
  expireInSeconds: 1800,
})
const BATCH = 1000
/** Ended sessions stay a while: the list of known addresses and the tracing of a misuse need them. */
const SESSIONS_KEPT = 30 * DAY

export function purgeSignIn({ db, clock, jobs }: { db: Scopes; clock: Clock; jobs: Jobs }): void {
  jobs.schedule(PURGE, '*/20 * * * *')
  jobs.work(PURGE, (_data, { signal }) => purge(db, clock, signal))
}

/** Exported for the job's test. */
export async function purge(db: Scopes, clock: Clock, signal: AbortSignal): Promise<void> {
  const steps: ((tx: TenantTx) => Promise<number>)[] = [
    (tx) => store.purgeRefreshTokens(tx, isoAt(clock), BATCH),
    (tx) => store.purgeSessions(tx, isoAt(clock, -SESSIONS_KEPT), BATCH),
    (tx) => store.purgeAccountTokens(tx, isoAt(clock), BATCH),
    (tx) => purgeThrottles(tx, isoAt(clock), BATCH),
  ]
  for (const step of steps)
    await inBatches(signal, async () => (await db.acrossTenants(step)) === BATCH)
}
