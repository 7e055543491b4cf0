/** Fetches due deliveries for lanes before they run dry, for many lanes by one statement. */
import { performance } from 'node:perf_hooks'
import type { Clock } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type DueDelivery, findDue, giveUp } from './deliveries.store.ts'
import type { Holdings } from './holdings.ts'
import { isHungry, type Lane } from './lane.ts'

export interface FeederDeps {
  db: Scopes
  clock: Clock
  log: Logger
  holdings: Holdings
}

const LANES_AT_ONCE = 64
/** Fetched for each message that may be under way, so that sending does not wait for fetching. */
const AHEAD = 12

/** Answers a function that fetches once, and says whether more lanes are hungry. */
export function openFeeder({ db, clock, log, holdings }: FeederDeps): () => Promise<boolean> {
  const iso = () => new Date(clock.now()).toISOString()

  function take(lane: Lane, found: DueDelivery[], limit: number): void {
    // As many as were asked for: there may be more behind them.
    if (found.length === limit) lane.wantsMore = true
    const queued = new Set(lane.queue.map(({ id }) => id))
    const isKnown = (id: number) => lane.open.has(id) || lane.closed.has(id) || queued.has(id)
    const fresh = found.filter(({ id }) => !isKnown(id))
    const lost = fresh.filter(({ resource_type }) => resource_type === null)
    if (lost.length > 0) void abandon(lane, lost)
    if (!lane.isOver)
      lane.queue.push(...fresh.filter(({ resource_type }) => resource_type !== null))
    lane.idleSince = lane.queue.length > 0 ? undefined : (lane.idleSince ?? performance.now())
  }

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
    const asked = hungry.slice(0, LANES_AT_ONCE).map((lane) => {
      lane.wantsMore = false
      lane.closed.clear()
      const known = lane.open.size + lane.queue.length
      return { lane, id: lane.id, limit: known + Math.floor(lane.health.slots) * AHEAD }
    })
    try {
      const due = await db.acrossTenants((tx) => findDue(tx, asked, iso()), 'read')
      const byLane = Map.groupBy(due, ({ webhook_id }) => webhook_id)
      for (const { lane, limit } of asked) take(lane, byLane.get(lane.id) ?? [], limit)
    } catch (error) {
      for (const { lane } of asked) lane.wantsMore = true
      throw error
    }
    return hungry.length > asked.length
  }
}
