/** Destroys deleted tenants for good once their time is over, in small batches. */
import type { Needs } from '../../core.ts'
import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { PurgeRows, Scopes } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature.ts'
import { type JobContext, jobKind } from '../../platform/jobs/index.ts'
import { append, SYSTEM } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { tenantEntry } from './tenants.journal.ts'
import * as store from './tenants.store.ts'

const PURGE = jobKind<Record<string, never>>('tenants.purge', {
  retries: 2,
  retryDelaySeconds: 60,
  retryBackoff: true,
  expireInSeconds: 3600,
})
const BATCH = 1000

/** How the rows of a deleted tenant go, from features in the order in which they were opened: the last first. */
export function purgesOf(features: readonly Feature[]): PurgeRows[] {
  return features.toReversed().flatMap(({ purgeRows }) => purgeRows ?? [])
}

/**
 * Registers the job. It destroys tenants `TENANT_PURGE_DAYS` after their deletion, in a restored copy after its release:
 * where the backup is from they may have been put back since.
 */
export function purgeDeletedTenants(
  core: Needs<'db' | 'clock' | 'jobs' | 'hold' | 'log', 'TENANT_PURGE_DAYS'>,
  features: readonly Feature[],
): void {
  const { jobs, hold, config } = core
  const purges = purgesOf(features)
  jobs.schedule(PURGE, '17 3 * * *')
  const work = async (_data: object, { signal }: JobContext) => {
    const clock = await core.db.agreedClock.read()
    await purge({ ...core, clock }, config.TENANT_PURGE_DAYS, signal, purges)
  }
  jobs.work(PURGE, work, { when: hold.whenReleased })
  hold.onRelease(store.beginGraceAnew)
}

interface PurgeDeps {
  db: Scopes
  clock: Clock
  log: Logger
}

/**
 * Exported for the job's test. A tenant that cannot be destroyed keeps none of the others.
 * @throws the signal's reason between two batches; the next run goes on
 * @throws what the first tenant failed by that could not be destroyed, behind all others
 */
export async function purge(
  { db, clock, log }: PurgeDeps,
  keepDays: number,
  signal: AbortSignal,
  purges: readonly PurgeRows[],
): Promise<void> {
  const before = isoAt(clock, -keepDays * DAY)
  const ids = await db.acrossTenants((tx) => store.startPurges(tx, before))
  const failures: unknown[] = []
  for (const id of ids) {
    try {
      await destroy(db, id, signal, purges)
    } catch (error) {
      signal.throwIfAborted()
      log.error({ err: error, tenant_id: id }, 'purging a deleted tenant failed')
      failures.push(error)
    }
  }
  // The job counts as failed, and is tried again.
  if (failures.length > 0) throw failures[0]
}

async function destroy(
  db: Scopes,
  id: number,
  signal: AbortSignal,
  purges: readonly PurgeRows[],
): Promise<void> {
  for (const purgeRows of purges)
    await inBatches(signal, () => db.acrossTenants((tx) => purgeRows(tx, id, BATCH)))
  await db.acrossTenants(async (tx) => {
    if (!(await store.purgeTenant(tx, id))) return
    tx.invalidate(`tenant:${id}`)
    await append(tx, SYSTEM, tenantEntry('tenant.purged', id))
  })
}
