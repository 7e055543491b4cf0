/** Fetches due deliveries for many queues with a single statement, before the queues are empty. */
import { isoAt } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type DueDelivery, findDue, giveUpDeliveries } from './deliveries.store.ts'
import type { Leases } from './leases.ts'
import type { Queue } from './queue.ts'

export interface PrefetchDeps {
  db: Scopes
  clock: Time
  log: Logger
  leases: Leases
}

const QUEUES_AT_ONCE = 64

/** Creates a function that fetches deliveries for up to 64 queues. It returns whether more queues need deliveries. */
export function createPrefetch({ db, clock, log, leases }: PrefetchDeps): () => Promise<boolean> {
  async function abandon(queue: Queue, lost: DueDelivery[]): Promise<void> {
    log.error(
      { webhook_id: queue.id },
      'deliveries abandoned, because their events no longer exist',
    )
    const work = db.acrossTenants(async (tx) => giveUpDeliveries(tx, lost, isoAt(clock)))
    await canFail(work, 'abandoning of deliveries', log)
  }

  return async () => {
    const hungry = [...leases.queues.values()].filter(
      (queue) => queue.isHungry() && !leases.isOverdue(queue),
    )
    if (hungry.length === 0) return false
    const asked = hungry
      .slice(0, QUEUES_AT_ONCE)
      .map((queue) => ({ queue, id: queue.id, limit: queue.startFetch() }))
    try {
      const due = await db.acrossTenants((tx) => findDue(tx, asked, isoAt(clock)), 'read')
      const byQueue = Map.groupBy(due, ({ webhook_id }) => webhook_id)
      for (const { queue, limit } of asked) {
        const lost = queue.endFetch(byQueue.get(queue.id) ?? [], limit)
        if (lost.length > 0) void abandon(queue, lost)
      }
    } catch (error) {
      for (const { queue } of asked) queue.wantMore()
      throw error
    }
    return hungry.length > asked.length
  }
}
