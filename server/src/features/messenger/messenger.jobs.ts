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

export interface UpkeepDeps {
  db: Scopes
  clock: Clock
  jobs: Jobs
}

export function keepMessengerTidy(deps: UpkeepDeps): void {
  deps.jobs.schedule(UPKEEP, '23 * * * *')
  deps.jobs.work(UPKEEP, (_data, { signal }) => deleteOutdated(deps, signal))
}

/** Exported for its test. */
export async function deleteOutdated(
  { db, clock }: Pick<UpkeepDeps, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  await purgeOutdated({ db, clock }, store.OUTDATED, signal)
  await inBatches(signal, async () => {
    const at = isoAt(clock, -CHATS_KEPT)
    return (await db.acrossTenants((tx) => store.deleteChats(tx, at, BATCH))) === BATCH
  })
}

export const expiredFix = (clock: Clock): Fix =>
  outdatedFix(store.OUTDATED, {
    clock,
    key: 'messenger.expired',
    title: 'Codes and messages of the messenger that are over were not deleted',
    description:
      'Codes for linking, replies and messages that were not sent in time are over; a job deletes them every hour. These are left for hours more: the job does not run, or fails. The tables grow.',
  })
