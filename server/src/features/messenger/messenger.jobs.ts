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

/** What is swept, and how old it has to be, in milliseconds. */
const SWEEPS: readonly (readonly [store.Sweep, number])[] = [
  [store.sweepCodes, 0],
  [store.sweepReplies, 0],
  [store.sweepUpdates, UPDATES_KEPT],
  [store.sweepNotices, DROPPED_AFTER],
  [store.sweepChats, DAY],
]

export interface UpkeepDeps {
  db: Scopes
  clock: Clock
  jobs: Jobs
}

export function keepMessengerTidy(deps: UpkeepDeps): void {
  deps.jobs.schedule(UPKEEP, '23 * * * *')
  deps.jobs.work(UPKEEP, (_data, { signal }) => sweepAll(deps, signal))
}

/** Exported for its test. */
export async function sweepAll(
  { db, clock }: Pick<UpkeepDeps, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  for (const [sweep, age] of SWEEPS)
    await inBatches(signal, async () => {
      const swept = await db.acrossTenants((tx) => sweep(tx, isoAt(clock, -age), BATCH))
      return swept === BATCH
    })
}
