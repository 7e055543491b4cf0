/** Destroys deleted tenants for good once their time is over, in small batches. */

import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import { append, SYSTEM } from '../../platform/journal/index.ts'
import * as store from './tenants.store.ts'

const PURGE = jobKind<Record<string, never>>('purge-tenants', {
  retries: 2,
  retryDelaySeconds: 60,
  retryBackoff: true,
  expireInSeconds: 3600,
})
const BATCH = 1000

/**
 * Destroys up to `limit` rows or so that another feature keeps of a tenant. Answers whether there may
 * be more; handed in, as these features know tenants and not the reverse.
 */
export type PurgeRows = (tx: TenantTx, tenantId: number, limit: number) => Promise<boolean>

/** @param keepDays days from the deletion to the purge (`TENANT_PURGE_DAYS`) */
export function purgeDeletedTenants(
  { db, clock, jobs }: { db: Scopes; clock: Clock; jobs: Jobs },
  keepDays: number,
  others: readonly PurgeRows[],
): void {
  jobs.schedule(PURGE, '17 3 * * *')
  jobs.work(PURGE, (_data, { signal }) => purge(db, clock, keepDays, signal, others))
}

/** Exported for the job's test. @throws the signal's reason between two batches; the next run goes on */
export async function purge(
  db: Scopes,
  clock: Clock,
  keepDays: number,
  signal: AbortSignal,
  others: readonly PurgeRows[] = [],
): Promise<void> {
  const before = isoAt(clock, -keepDays * DAY)
  const ids = await db.acrossTenants((tx) => store.startPurges(tx, before))
  for (const id of ids) {
    for (const purgeRows of [...others, store.purgeRows])
      await inBatches(signal, () => db.acrossTenants((tx) => purgeRows(tx, id, BATCH)))
    await db.acrossTenants(async (tx) => {
      if (!(await store.purgeTenant(tx, id))) return
      tx.stale(`tenant:${id}`)
      await append(tx, SYSTEM, {
        action: 'tenant.purged',
        tenant_id: id,
        resource_type: 'tenant',
        resource_id: id,
      })
    })
  }
}
