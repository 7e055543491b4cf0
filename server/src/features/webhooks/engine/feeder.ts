/** Fetches due deliveries for lanes before they run dry, for many lanes by one statement. */
import type { Clock } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type DueDelivery, findDue, giveUp } from './deliveries.store.ts'
import type { Holdings } from './holdings.ts'
import { fetched, fetching, isHungry, type Lane, wantMore } from './lane.ts'

export interface FeederDeps {
  db: Scopes
  clock: Clock
  log: Logger
  holdings: Holdings
}

const LANES_AT_ONCE = 64

/** Answers a function that fetches once, and says whether more lanes are hungry. */
export function openFeeder({ db, clock, log, holdings }: FeederDeps): () => Promise<boolean> {
  const iso = () => new Date(clock.now()).toISOString()

  async function abandon(lane: Lane, lost: DueDelivery[]): Promise<void> {
    log.error({ webhook_id: lane.id }, 'deliveries are given up: their events are gone')
    const work = db.acrossTenants(async (tx) => giveUp(tx, lost, iso()))
    await canFail(work, 'giving up deliveries', log)
  }

  return async () => {
    const now = clock.now()
    const hungry = [...holdings.lanes.values()].filter(
      (lane) => isHungry(lane, now) && !holdings.isOverdue(lane),
    )
    if (hungry.length === 0) return false
    const asked = hungry
      .slice(0, LANES_AT_ONCE)
      .map((lane) => ({ lane, id: lane.id, limit: fetching(lane) }))
    try {
      const due = await db.acrossTenants((tx) => findDue(tx, asked, iso()), 'read')
      const byLane = Map.groupBy(due, ({ webhook_id }) => webhook_id)
      for (const { lane, limit } of asked) {
        const lost = fetched(lane, byLane.get(lane.id) ?? [], limit)
        if (lost.length > 0) void abandon(lane, lost)
      }
    } catch (error) {
      for (const { lane } of asked) wantMore(lane)
      throw error
    }
    return hungry.length > asked.length
  }
}
