/** Destroys deleted tenants for good once their time is over, in small batches. */
import type { Needs } from '../../core.ts'
import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { PurgeRows, Scopes } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature.ts'
import { jobKind } from '../../platform/jobs/index.ts'
import { append, SYSTEM } from '../../platform/journal/index.ts'
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

/** Registers the job. It destroys tenants `TENANT_PURGE_DAYS` after their deletion. */
export function purgeDeletedTenants(
  { db, clock, jobs, config }: Needs<'db' | 'clock' | 'jobs', 'TENANT_PURGE_DAYS'>,
  features: readonly Feature[],
): void {
  const purges = purgesOf(features)
  jobs.schedule(PURGE, '17 3 * * *')
  jobs.work(PURGE, (_data, { signal }) =>
    purge(db, clock, config.TENANT_PURGE_DAYS, signal, purges),
  )
}

/** Exported for the job's test. @throws the signal's reason between two batches; the next run goes on */
export async function purge(
  db: Scopes,
  clock: Clock,
  keepDays: number,
  signal: AbortSignal,
  purges: readonly PurgeRows[],
): Promise<void> {
  const before = isoAt(clock, -keepDays * DAY)
  const ids = await db.acrossTenants((tx) => store.startPurges(tx, before))
  for (const id of ids) {
    for (const purgeRows of purges)
      await inBatches(signal, () => db.acrossTenants((tx) => purgeRows(tx, id, BATCH)))
    await db.acrossTenants(async (tx) => {
      if (!(await store.purgeTenant(tx, id))) return
      tx.invalidate(`tenant:${id}`)
      await append(tx, SYSTEM, tenantEntry('tenant.purged', id))
    })
  }
}
