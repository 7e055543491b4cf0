/** Background work of the messenger: throws away what is over. */
import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { Scopes } from '../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import { DROPPED_AFTER } from './sending/pace.ts'
import * as store from './upkeep/upkeep.store.ts'

const UPKEEP = jobKind<Record<string, never>>('messenger.maintain', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
const BATCH = 1000
/** The provider repeats no update that is older than a day. */
const UPDATES_KEPT = 2 * DAY

/** What is deleted, and how old it has to be, in milliseconds. */
const OUTDATED: readonly (readonly [store.DeleteBatch, number])[] = [
  [store.deleteCodes, 0],
  [store.deleteReplies, 0],
  [store.deleteUpdates, UPDATES_KEPT],
  [store.deleteNotices, DROPPED_AFTER],
  [store.deleteChats, DAY],
]

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
  for (const [deleteBatch, age] of OUTDATED)
    await inBatches(signal, async () => {
      const deleted = await db.acrossTenants((tx) => deleteBatch(tx, isoAt(clock, -age), BATCH))
      return deleted === BATCH
    })
}
