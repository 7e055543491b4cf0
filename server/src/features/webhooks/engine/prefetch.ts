/** Fetches due deliveries for queues before they run dry, for many queues by one statement. */
import { isoAt } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type DueDelivery, findDue, giveUp } from './deliveries.store.ts'
import type { Leases } from './leases.ts'
import { fetched, fetching, isHungry, type Queue, wantMore } from './queue.ts'

export interface PrefetchDeps {
  db: Scopes
  clock: Time
  log: Logger
  leases: Leases
}

const QUEUES_AT_ONCE = 64

/** Returns a function that fetches once, and says whether more queues are hungry. */
export function createPrefetch({ db, clock, log, leases }: PrefetchDeps): () => Promise<boolean> {
  async function abandon(queue: Queue, lost: DueDelivery[]): Promise<void> {
    log.error({ webhook_id: queue.id }, 'deliveries are given up: their events are gone')
    const work = db.acrossTenants(async (tx) => giveUp(tx, lost, isoAt(clock)))
    await canFail(work, 'giving up deliveries', log)
  }

  return async () => {
    const now = clock.now()
    const hungry = [...leases.queues.values()].filter(
      (queue) => isHungry(queue, now) && !leases.isOverdue(queue),
    )
    if (hungry.length === 0) return false
    const asked = hungry
      .slice(0, QUEUES_AT_ONCE)
      .map((queue) => ({ queue, id: queue.id, limit: fetching(queue) }))
    try {
      const due = await db.acrossTenants((tx) => findDue(tx, asked, isoAt(clock)), 'read')
      const byQueue = Map.groupBy(due, ({ webhook_id }) => webhook_id)
      for (const { queue, limit } of asked) {
        const lost = fetched(queue, byQueue.get(queue.id) ?? [], limit, clock)
        if (lost.length > 0) void abandon(queue, lost)
      }
    } catch (error) {
      for (const { queue } of asked) wantMore(queue)
      throw error
    }
    return hungry.length > asked.length
  }
}
