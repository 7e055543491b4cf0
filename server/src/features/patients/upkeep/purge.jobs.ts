/** The background job that permanently deletes patients after their grace period. */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { inBatches } from '../../../lib/in-batches.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import type { OutboundHold } from '../../../platform/hold/hold.ts'
import { type JobContext, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append, journalEntry, SYSTEM } from '../../../platform/journal/index.ts'
import { destroyDeleted, restartPatientGracePeriod } from './upkeep.store.ts'

const PURGE = jobKind<Record<string, never>>('patients.purge', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
/** The number of patients purged per batch, each with their tokens and grants. */
const BATCH = 200

export interface PurgeDeps {
  db: Scopes
  clock: Clock
  /** How many days after the deletion a patient can be restored (`PATIENT_PURGE_DAYS`). */
  keepDays: number
}

/**
 * Registers the nightly purge. On a restored copy, the purge waits until an operator releases the copy. In the original
 * database, the deletion of the patients may have been undone since the backup.
 */
export function purgesDeleted(deps: PurgeDeps & { jobs: Jobs; hold: OutboundHold }): void {
  const { jobs, hold } = deps
  jobs.schedule(PURGE, '17 3 * * *')
  const work = async (_data: object, { signal }: JobContext) =>
    purgeDeleted({ ...deps, clock: await deps.db.agreedClock.read() }, signal)
  jobs.work(PURGE, work, { when: hold.whenReleased })
  hold.onRelease(restartPatientGracePeriod)
}

/** Purges the patients whose grace period has ended. Exported for unit tests. */
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
