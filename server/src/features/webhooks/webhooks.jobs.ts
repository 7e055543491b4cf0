/** The background jobs of webhooks. They retry pending deliveries and delete outdated data. */

import { type Clock, DAY, isoAt, MINUTE } from '../../lib/clock.ts'
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
  /** The time of the request by the clock of the node that received it, ISO 8601. */
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

export interface WebhookUpkeepDeps {
  db: Scopes
  clock: Clock
  jobs: Jobs
  log: Logger
  /** The number of days for which deliveries are stored (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

/** Registers the job that deletes the deliveries of a deleted webhook. Returns a function that queues it. */
export function deletesDeliveries({ db, jobs }: Pick<WebhookUpkeepDeps, 'db' | 'jobs'>) {
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
 * Registers the job that retries a webhook's pending deliveries now. Their retry schedules start again. The job runs
 * after the URL has changed or the receiver responds again. Returns a function that queues the job.
 */
export function retriesNow(deps: Pick<WebhookUpkeepDeps, 'db' | 'clock' | 'jobs'>) {
  const { jobs } = deps
  jobs.work(RETRY_NOW, (webhook, { signal }) => retryWaiting(deps, webhook, signal), {
    concurrency: 3,
  })
  return (tx: TenantTx, webhook: WebhookToRetry) => jobs.send(tx, RETRY_NOW, webhook)
}

/** Makes a webhook's pending deliveries due, in batches. Exported for its test. */
export async function retryWaiting(
  { db, clock }: Pick<WebhookUpkeepDeps, 'db' | 'clock'>,
  { id, tenant_id, at }: WebhookToRetry,
  signal: AbortSignal,
): Promise<void> {
  await db.inTenant(tenant_id, awaitResults)
  await inBatches(signal, async () => {
    const retried = await db.inTenant(tenant_id, async (tx) => {
      // Locks the queue before the deliveries. All code that locks both must use this order, to avoid deadlocks.
      await scheduleQueue(tx, id, at)
      notifyDue(tx, [id])
      return store.retryDeliveriesNow(tx, id, { since: at, now: isoAt(clock) }, BATCH)
    })
    return retried === BATCH
  })
}

/** Schedules the nightly upkeep. `tidyReplays` resumes replays whose jobs finally failed, and deletes old replays. */
export function keepWebhooksTidy(deps: WebhookUpkeepDeps, tidyReplays: () => Promise<void>): void {
  deps.jobs.schedule(UPKEEP, '41 2 * * *')
  deps.jobs.work(UPKEEP, async (_data, { signal }) => {
    const clock = await deps.db.agreedClock.read()
    await dropOldDays({ ...deps, clock }, signal)
    await deleteExpiredSecrets({ ...deps, clock }, signal)
    await tidyReplays()
    await scheduleForgotten({ ...deps, clock })
  })
}

/**
 * How long deliveries must have been due until their queue counts as forgotten. Under any load, queues are leased
 * within seconds.
 */
const LATE_MS = 10 * MINUTE

/** Makes unscheduled queues due if their deliveries have been due for minutes. Exported for its test. */
export async function scheduleForgotten({
  db,
  clock,
}: Pick<WebhookUpkeepDeps, 'db' | 'clock'>): Promise<void> {
  await db.acrossTenants(async (tx) => {
    const late = isoAt(clock, -LATE_MS)
    notifyDue(tx, await store.rescheduleQueues(tx, { now: isoAt(clock), late }))
  })
}

/** Drops the partitions of expired days, one at a time. Exported for its test. */
export async function dropOldDays(
  { db, clock, keepDays, log }: Omit<WebhookUpkeepDeps, 'jobs'>,
  signal: AbortSignal,
): Promise<void> {
  const firstKept = isoAt(clock, -keepDays * DAY).slice(0, 10)
  const days = await db.acrossTenants((tx) => store.daysBefore(tx, firstKept), 'read')
  for (const day of days) {
    signal.throwIfAborted()
    // If a partition cannot be dropped now, the next run of the job drops it.
    const dropped = db.acrossTenants((tx) => dropUnlessWaitedFor(tx, day))
    await canFail(dropped, `deletion of the deliveries of ${day}`, log)
  }
}

async function dropUnlessWaitedFor(tx: TenantTx, day: string): Promise<void> {
  // Checks before locking, to avoid an unnecessary lock, and again under the lock, which excludes new deliveries.
  if (await store.isWaitedFor(tx, day)) return
  await store.lockDeliveries(tx)
  if (!(await store.isWaitedFor(tx, day))) await store.dropDay(tx, day)
}

/** Deletes expired secrets in batches. Exported for its test. */
export async function deleteExpiredSecrets(
  { db, clock }: Pick<WebhookUpkeepDeps, 'db' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = isoAt(clock)
  await inBatches(signal, async () => {
    const deleted = await db.acrossTenants((tx) => store.deleteSecretsExpiredBefore(tx, now, BATCH))
    return deleted === BATCH
  })
}

/** Deletes one batch of the webhook data of a deleted tenant. Returns whether there may be more. */
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
