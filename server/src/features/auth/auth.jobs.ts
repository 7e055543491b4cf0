/** The background job that deletes expired sessions, tokens and failure counters in small batches. */

import type { Clock } from '../../lib/clock.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Fix } from '../../platform/feature/fix.ts'
import { outdatedFix, purgeOutdated } from '../../platform/feature/outdated.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import { OUTDATED_ACCOUNT_ROWS } from './purge.store.ts'

const PURGE = jobKind<Record<string, never>>('auth.purge', {
  retries: 2,
  retryDelaySeconds: 60,
  retryBackoff: true,
  expireInSeconds: 1800,
})

export function purgeSignIn({ db, jobs }: { db: Scopes; jobs: Jobs }): void {
  jobs.schedule(PURGE, '*/20 * * * *')
  jobs.work(PURGE, async (_data, { signal }) =>
    purgeAccounts(db, await db.agreedClock.read(), signal),
  )
}

export const purgeAccounts = (db: Scopes, clock: Clock, signal: AbortSignal): Promise<void> =>
  purgeOutdated({ db, clock }, OUTDATED_ACCOUNT_ROWS, signal)

export const expiredFix = ({ clock, agreedClock }: Scopes): Fix =>
  outdatedFix(OUTDATED_ACCOUNT_ROWS, {
    clock,
    agreedClock,
    key: 'auth.expired',
    title: 'Expired sessions, tokens and counters were not deleted',
    description:
      'A job deletes expired sessions, refresh tokens, mailed links and failed sign-in counters every 20 minutes. These rows are hours overdue, because the job does not run or fails. They have no effect, but the tables grow.',
  })
