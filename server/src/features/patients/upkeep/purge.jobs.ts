/** Background work of patients: destroys those who were deleted long enough ago. */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { inBatches } from '../../../lib/in-batches.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { OutboundHold } from '../../../platform/hold/index.ts'
import { type JobContext, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append, journalEntry, SYSTEM } from '../../../platform/journal/index.ts'
import { beginGraceAnew, destroyDeleted } from './upkeep.store.ts'

const PURGE = jobKind<Record<string, never>>('patients.purge', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
/** Each takes its tokens and grants along. */
const BATCH = 200

export interface PurgeDeps {
  db: Scopes
  clock: Clock
  /** Days for which a deleted patient can be put back (`PATIENT_PURGE_DAYS`). */
  keepDays: number
}

/** Every night; in a restored copy after its release, as where the backup is from they may have been put back since. */
export function purgesDeleted(deps: PurgeDeps & { jobs: Jobs; hold: OutboundHold }): void {
  const { jobs, hold } = deps
  jobs.schedule(PURGE, '17 3 * * *')
  const work = async (_data: object, { signal }: JobContext) =>
    purgeDeleted({ ...deps, clock: await deps.db.agreedClock.read() }, signal)
  jobs.work(PURGE, work, { when: hold.whenReleased })
  hold.onRelease(beginGraceAnew)
}

/** Exported for its test. */
export async function purgeDeleted(
  { db, clock, keepDays }: PurgeDeps,
  signal: AbortSignal,
): Promise<void> {
  const before = isoAt(clock, -keepDays * DAY)
  await inBatches(signal, () =>
    db.acrossTenants(async (tx) => {
      const destroyed = await destroyDeleted(tx, before, BATCH)
      for (const patient of destroyed)
        await append(tx, SYSTEM, journalEntry('patient.purged', 'patient', patient))
      return destroyed.length === BATCH
    }),
  )
}
