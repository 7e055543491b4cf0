/** Deletes what sign-in no longer needs: sessions, tokens and counts that are over, in small batches. */

import type { Clock } from '../../lib/clock.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Fix } from '../../platform/fix.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import { outdatedFix, purgeOutdated } from '../../platform/outdated.ts'
import { OUTDATED } from './purge.store.ts'

const PURGE = jobKind<Record<string, never>>('auth.purge', {
  retries: 2,
  retryDelaySeconds: 60,
  retryBackoff: true,
  expireInSeconds: 1800,
})

export function purgeSignIn({ db, jobs }: { db: Scopes; jobs: Jobs }): void {
  jobs.schedule(PURGE, '*/20 * * * *')
  jobs.work(PURGE, async (_data, { signal }) => purge(db, await db.agreedClock.read(), signal))
}

/** Exported for the job's test. */
export const purge = (db: Scopes, clock: Clock, signal: AbortSignal): Promise<void> =>
  purgeOutdated({ db, clock }, OUTDATED, signal)

export const expiredFix = ({ clock, agreedClock }: Scopes): Fix =>
  outdatedFix(OUTDATED, {
    clock,
    agreedClock,
    key: 'auth.expired',
    title: 'Sessions, tokens and counts that are over were not deleted',
    description:
      'Sessions, refresh tokens, mailed links and counts of failed guesses are over, and no longer of any use to whoever has them; a job deletes them every 20 minutes. These are left for hours: the job does not run, or fails. The tables grow.',
  })
