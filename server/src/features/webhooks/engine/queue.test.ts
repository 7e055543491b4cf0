/** When a queue may send, wants more, and is done. */
import { beforeEach, describe, expect, test } from 'vitest'
import { type ClaimedQueue, LEASE_SECONDS } from './claims.store.ts'
import type { DueDelivery } from './deliveries.store.ts'
import {
  end,
  fetched,
  fetching,
  isHungry,
  isQuiet,
  maySend,
  openQueue,
  type Queue,
  startOver,
  stateOf,
  TRUSTED_MS,
} from './queue.ts'
import { TUNING } from './tuning.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const clock = { now: () => NOW, monotonic: () => 1_000 }
const TARGET = { url: 'https://receiver.test/', keys: [] }
const CLAIMED: ClaimedQueue = {
  webhook_id: 7,
  tenant_id: 2,
  epoch: 3,
  failures: 2,
  failure_share: 0.25,
  failing_since: '2026-11-19T00:00:00.000Z',
  failed_at: '2026-11-19T00:00:00.000Z',
  slots: 2,
  paused_until: '2026-11-20T11:59:59.000Z',
  resets: 0,
  url: TARGET.url,
  secrets: [],
}

let queue: Queue

beforeEach(() => {
  queue = openQueue(CLAIMED, TARGET, clock.monotonic())
  queue.waiting = [{ id: 1 } as DueDelivery]
})

describe('a queue may send', () => {
  test('what is queued, once its pause is over', () => {
    expect(maySend(queue, clock)).toBe(true)
    expect(maySend(queue, { ...clock, now: () => NOW - 2000 })).toBe(false)
    queue.waiting = []
    expect(maySend(queue, clock)).toBe(false)
  })

  test('as many at once as it has slots, of which a part is none', () => {
    queue.circuit = { ...queue.circuit, slots: 2.9 }
    queue.running = 1
    expect(maySend(queue, clock)).toBe(true)
    queue.running = 2
    expect(maySend(queue, clock)).toBe(false)
  })

  test('fewer while its receiver fails in a row', () => {
    queue.circuit = { ...queue.circuit, slots: 4, failures: 3 }
    queue.running = 1
    expect(maySend(queue, clock)).toBe(true)
    queue.running = 2
    expect(maySend(queue, clock)).toBe(false)
  })

  test('nothing once its lease may be over', () => {
    queue.leasedUntil = clock.monotonic()
    expect(maySend(queue, clock)).toBe(false)
  })

  test('nothing once it is over', () => {
    end(queue)
    expect(maySend(queue, clock)).toBe(false)
    expect(queue.waiting).toEqual([])
  })
})

test('a lease is trusted for less than it lasts, and for longer than two heartbeats', () => {
  expect(TRUSTED_MS).toBeLessThan(LEASE_SECONDS * 1000)
  expect(TRUSTED_MS).toBeGreaterThan(2 * TUNING.heartbeatMs)
  expect(openQueue(CLAIMED, TARGET, 1000).leasedUntil).toBe(1000 + TRUSTED_MS)
})

describe('a queue wants to be fetched for', () => {
  test('while it may hold more, and has less queued than it may send at once', () => {
    expect(isHungry(queue, NOW)).toBe(true)
    queue.waiting = [{ id: 1 } as DueDelivery, { id: 2 } as DueDelivery]
    expect(isHungry(queue, NOW)).toBe(false)
    queue.waiting = []
    queue.wantsMore = false
    expect(isHungry(queue, NOW)).toBe(false)
  })

  test('not in a pause, and not once it is over', () => {
    expect(isHungry(queue, NOW - 2000)).toBe(false)
    end(queue)
    expect(isHungry(queue, NOW)).toBe(false)
  })
})

describe('a delivery that comes first', () => {
  const due = (...ids: number[]) => ids.map((id) => ({ id, resource_type: 'user' }) as DueDelivery)

  test('has all that waits read anew, in its order', () => {
    queue.waiting = due(1, 2, 3)
    queue.wantsMore = false
    startOver(queue)
    expect(isHungry(queue, NOW)).toBe(true)
    fetched(queue, due(9, 1, 2, 3), fetching(queue), clock)
    expect(queue.waiting.map(({ id }) => id)).toEqual([9, 1, 2, 3])
  })

  test('does not wait for the end of a pause that is not written down yet', () => {
    queue.circuit = { ...queue.circuit, pausedUntil: NOW + 5000 }
    startOver(queue)
    expect(isHungry(queue, NOW)).toBe(true)
    fetched(queue, due(9), fetching(queue), clock)
    expect(maySend(queue, clock)).toBe(true)
  })

  test('is not behind what was just being read', () => {
    queue.waiting = []
    const limit = fetching(queue)
    startOver(queue)
    expect(fetched(queue, due(1, 2, 3), limit, clock)).toEqual([])
    expect(queue.waiting).toEqual([])
    expect(isHungry(queue, NOW)).toBe(true)
  })
})

test('a queue is quiet once all that was begun has ended and is written down', () => {
  expect(isQuiet(queue)).toBe(true)
  queue.running = 1
  queue.open.add(1)
  expect(isQuiet(queue)).toBe(false)
  queue.running = 0
  expect(isQuiet(queue)).toBe(false)
  queue.open.delete(1)
  expect(isQuiet(queue)).toBe(true)
})

test('what a queue knows of its receiver is kept as it was read, in whole slots', () => {
  queue.circuit = { ...queue.circuit, slots: 2.75 }
  const { failures, failure_share, failing_since, failed_at, paused_until } = CLAIMED
  expect(stateOf(queue)).toEqual({
    id: 7,
    epoch: 3,
    failures,
    failure_share,
    failing_since,
    failed_at,
    slots: 2,
    paused_until,
  })
  queue.circuit = { ...queue.circuit, failing_since: null, failedAt: 0, pausedUntil: 0 }
  expect(stateOf(queue)).toMatchObject({
    failing_since: null,
    failed_at: null,
    paused_until: null,
  })
})
