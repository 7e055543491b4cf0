/** Background work of webhooks: throws away what is over, and what belongs to nobody any more. */

import { type Clock, DAY, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../platform/jobs/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { awaitResults } from './engine/deliveries.store.ts'
import { scheduleQueue } from './engine/queues.store.ts'
import { notifyDue } from './engine/topics.ts'
import * as store from './upkeep/upkeep.store.ts'

interface WebhookRef {
  id: number
  tenant_id: number
}

interface WebhookToRetry extends WebhookRef {
  /** Now, as the one who asked for it saw it, ISO 8601. */
  at: string
}

const RETRY_NOW = jobKind<WebhookToRetry>('webhooks.retry-now')
const DELETE_DELIVERIES = jobKind<WebhookRef>('webhooks.delete-deliveries', {
  retries: 30,
  retryDelayMaxSeconds: 3600,
})
const UPKEEP = jobKind<Record<string, never>>('webhooks.maintain', {
  retries: 2,
  retryDelaySeconds: 60,
  expireInSeconds: 3600,
})
const BATCH = 1000

export interface UpkeepDeps {
  db: Scopes
  clock: Clock
  jobs: Jobs
  log: Logger
  /** How long deliveries are kept (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

/** Returns how the deliveries of a deleted webhook are handed over to be deleted. */
export function deletesDeliveries({ db, jobs }: Pick<UpkeepDeps, 'db' | 'jobs'>) {
  jobs.work(
    DELETE_DELIVERIES,
    async ({ id, tenant_id }, { signal }) => {
      await inBatches(signal, () =>
        db.inTenant(tenant_id, (tx) => store.deleteDeliveries(tx, id, BATCH)),
      )
    },
    { concurrency: 3 },
  )
  return (tx: TenantTx, { id, tenant_id }: WebhookRef) =>
    jobs.send(tx, DELETE_DELIVERIES, { id, tenant_id })
}

/**
 * Returns how a webhook's deliveries that wait for a retry are retried now, with all their retries
 * again: its receiver is another one now, or answers again.
 */
export function retriesNow(deps: Pick<UpkeepDeps, 'db' | 'clock' | 'jobs'>) {
  const { jobs } = deps
  jobs.work(RETRY_NOW, (webhook, { signal }) => retryWaiting(deps, webhook, signal), {
    concurrency: 3,
  })
  return (tx: TenantTx, webhook: WebhookToRetry) => jobs.send(tx, RETRY_NOW, webhook)
}

/** Exported for its test. */
export async function retryWaiting(
  { db, clock }: Pick<UpkeepDeps, 'db' | 'clock'>,
  { id, tenant_id, at }: WebhookToRetry,
  signal: AbortSignal,
): Promise<void> {
  await db.inTenant(tenant_id, awaitResults)
  await inBatches(signal, async () => {
    const retried = await db.inTenant(tenant_id, async (tx) => {
      // The queue first, as everyone does who needs both.
      await scheduleQueue(tx, id, at)
      notifyDue(tx, [id])
      return store.retryDeliveriesNow(tx, id, { since: at, now: isoAt(clock) }, BATCH)
    })
    return retried === BATCH
  })
}

/** @param tidyReplays goes on with the replays that were given up, and forgets old ones */
export function keepWebhooksTidy(deps: UpkeepDeps, tidyReplays: () => Promise<void>): void {
  deps.jobs.schedule(UPKEEP, '41 2 * * *')
  deps.jobs.work(UPKEEP, async (_data, { signal }) => {
    const clock = await deps.db.agreedClock.read()
    await dropOldDays({ ...deps, clock }, signal)
    await deleteExpiredSecrets({ ...deps, clock }, signal)
    await tidyReplays()
  })
}

/** Drops the days that are over, one at a time. Exported for its test. */
export async function dropOldDays(
  { db, clock, keepDays, log }: Omit<UpkeepDeps, 'jobs'>,
  signal: AbortSignal,
): Promise<void> {
  const firstKept = isoAt(clock, -keepDays * DAY).slice(0, 10)
  const days = await db.acrossTenants((tx) => store.daysBefore(tx, firstKept), 'read')
  for (const day of days) {
    signal.throwIfAborted()
    // One that cannot be dropped now is still there the next night.
    const dropped = db.acrossTenants((tx) => dropUnlessWaitedFor(tx, day))
    await canFail(dropped, `dropping the deliveries of ${day}`, log)
  }
}

async function dropUnlessWaitedFor(tx: TenantTx, day: string): Promise<void> {
  // Looked at before anybody is kept waiting, and again when nobody can add to it any more.
  if (await store.isWaitedFor(tx, day)) return
  await store.lockDeliveries(tx)
  if (!(await store.isWaitedFor(tx, day))) await store.dropDay(tx, day)
}

/** Exported for its test. */
export async function deleteExpiredSecrets(
  { db, clock }: Pick<UpkeepDeps, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = isoAt(clock)
  await inBatches(signal, async () => {
    const deleted = await db.acrossTenants((tx) => store.deleteExpiredSecrets(tx, now, BATCH))
    return deleted === BATCH
  })
}

/** Destroys some of what a deleted tenant's webhooks hold. Returns whether there may be more. */
export async function purgeWebhooks(
  tx: TenantTx,
  tenantId: number,
  limit: number,
): Promise<boolean> {
  const id = await store.findAnyWebhook(tx, tenantId)
  if (id === undefined) return false
  if (!(await store.deleteDeliveries(tx, id, limit))) await store.deleteOfDeleted(tx, tenantId, id)
  return true
}
