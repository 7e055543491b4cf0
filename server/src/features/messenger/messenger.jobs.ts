/** The background job of the messenger, which deletes outdated rows. */
import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { Scopes } from '../../platform/db/index.ts'
import { purgeOutdated } from '../../platform/feature/outdated.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import * as store from './upkeep/upkeep.store.ts'

const UPKEEP = jobKind<Record<string, never>>('messenger.maintain', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
const BATCH = 1000
/** The age at which an unused chat is deleted. */
const CHATS_KEPT = DAY

export function keepMessengerTidy({ db, jobs }: { db: Scopes; jobs: Jobs }): void {
  jobs.schedule(UPKEEP, '23 * * * *')
  jobs.work(UPKEEP, async (_data, { signal }) =>
    deleteOutdatedChatRows({ db, clock: await db.agreedClock.read() }, signal),
  )
}

/** Deletes expired codes, replies, updates and notices, and unused chats. Exported for its test. */
export async function deleteOutdatedChatRows(
  { db, clock }: { db: Scopes; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  await purgeOutdated({ db, clock }, store.OUTDATED_CHAT_ROWS, signal)
  await inBatches(signal, async () => {
    const at = isoAt(clock, -CHATS_KEPT)
    return (await db.acrossTenants((tx) => store.deleteChats(tx, at, BATCH))) === BATCH
  })
}
