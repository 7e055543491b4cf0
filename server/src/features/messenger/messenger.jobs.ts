/** Background work of the messenger: throws away what is over. */
import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Fix } from '../../platform/fix.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import { outdatedFix, purgeOutdated } from '../../platform/outdated.ts'
import * as store from './upkeep/upkeep.store.ts'

const UPKEEP = jobKind<Record<string, never>>('messenger.maintain', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
const BATCH = 1000
/** How old what nothing keeps has to be. */
const CHATS_KEPT = DAY

export function keepMessengerTidy({ db, jobs }: { db: Scopes; jobs: Jobs }): void {
  jobs.schedule(UPKEEP, '23 * * * *')
  jobs.work(UPKEEP, async (_data, { signal }) =>
    deleteOutdated({ db, clock: await db.agreedClock.read() }, signal),
  )
}

/** Exported for its test. */
export async function deleteOutdated(
  { db, clock }: { db: Scopes; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  await purgeOutdated({ db, clock }, store.OUTDATED, signal)
  await inBatches(signal, async () => {
    const at = isoAt(clock, -CHATS_KEPT)
    return (await db.acrossTenants((tx) => store.deleteChats(tx, at, BATCH))) === BATCH
  })
}

export const expiredFix = ({ clock, agreedClock }: Scopes): Fix =>
  outdatedFix(store.OUTDATED, {
    clock,
    agreedClock,
    key: 'messenger.expired',
    title: 'Codes and messages of the messenger that are over were not deleted',
    description:
      'Codes for linking, replies and messages that were not sent in time are over; a job deletes them every hour. These are left for hours more: the job does not run, or fails. The tables grow.',
  })
