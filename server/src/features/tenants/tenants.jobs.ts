/** The background job that purges deleted tenants after their grace period, in small batches. */
import type { Needs } from '../../core.ts'
import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { PurgeRows, Scopes } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { type JobContext, jobKind } from '../../platform/jobs/index.ts'
import { append, SYSTEM } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { tenantEntry } from './tenants.service.ts'
import * as store from './tenants.store.ts'

const PURGE = jobKind<Record<string, never>>('tenants.purge', {
  retries: 2,
  retryDelaySeconds: 60,
  retryBackoff: true,
  expireInSeconds: 3600,
})
const BATCH = 1000

/** Returns the functions that delete a purged tenant's rows. The feature opened last deletes its rows first. */
export function purgesOf(features: readonly Feature[]): PurgeRows[] {
  return features.toReversed().flatMap(({ purgeRows }) => purgeRows ?? [])
}

/**
 * Registers the job, which purges tenants `TENANT_PURGE_DAYS` after their deletion. On a restored copy, the job waits
 * until an operator releases the copy. In the original database, the deletion of the tenants may have been undone since
 * the backup.
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
    await purgeTenants({ ...core, clock }, config.TENANT_PURGE_DAYS, signal, purges)
  }
  jobs.work(PURGE, work, { when: hold.whenReleased })
  hold.onRelease(store.restartTenantGracePeriod)
}

interface PurgeDeps {
  db: Scopes
  clock: Clock
  log: Logger
}

/**
 * Purges deleted tenants. If the purge of one tenant fails, continues with the others. Exported for unit tests.
 * @throws the abort reason of the signal, between two batches. The next run continues.
 * @throws the first error, after all other tenants were purged
 */
export async function purgeTenants(
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
      log.error({ err: error, tenant_id: id }, 'tenant purge failed')
      failures.push(error)
    }
  }
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
