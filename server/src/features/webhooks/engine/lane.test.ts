/** When a lane may send, wants more, and is done. */
import { performance } from 'node:perf_hooks'
import { beforeEach, describe, expect, test } from 'vitest'
import { type ClaimedLane, LEASE_SECONDS } from './claims.store.ts'
import type { DueDelivery } from './deliveries.store.ts'
import {
  end,
  isHungry,
  isQuiet,
  type Lane,
  maySend,
  openLane,
  stateOf,
  TRUSTED_MS,
} from './lane.ts'
import { PACE } from './pace.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const TARGET = { url: 'https://receiver.test/', keys: [] }
const CLAIMED: ClaimedLane = {
  webhook_id: 7,
  tenant_id: 2,
  epoch: 3,
  failures: 2,
  failure_share: 0.25,
  failing_since: '2026-11-19T00:00:00.000Z',
  failed_at: '2026-11-19T00:00:00.000Z',
  slots: 2,
  paused_until: '2026-11-20T11:59:59.000Z',
  url: TARGET.url,
  secrets: [],
}

let lane: Lane

beforeEach(() => {
  lane = openLane(CLAIMED, TARGET, performance.now())
  lane.queue = [{ id: 1 } as DueDelivery]
})

describe('a lane may send', () => {
  test('what is queued, once its pause is over', () => {
    expect(maySend(lane, NOW)).toBe(true)
    expect(maySend(lane, NOW - 2000)).toBe(false)
    lane.queue = []
    expect(maySend(lane, NOW)).toBe(false)
  })

  test('as many at once as it has slots, of which a part is none', () => {
    lane.health = { ...lane.health, slots: 2.9 }
    lane.running = 1
    expect(maySend(lane, NOW)).toBe(true)
    lane.running = 2
    expect(maySend(lane, NOW)).toBe(false)
  })

  test('fewer while its receiver fails in a row', () => {
    lane.health = { ...lane.health, slots: 4, failures: 3 }
    lane.running = 1
    expect(maySend(lane, NOW)).toBe(true)
    lane.running = 2
    expect(maySend(lane, NOW)).toBe(false)
  })

  test('nothing once its lease may be over', () => {
    lane.heldUntil = performance.now()
    expect(maySend(lane, NOW)).toBe(false)
  })

  test('nothing once it is over', () => {
    end(lane)
    expect(maySend(lane, NOW)).toBe(false)
    expect(lane.queue).toEqual([])
  })
})

test('a lease is trusted for less than it lasts, and for longer than two heartbeats', () => {
  expect(TRUSTED_MS).toBeLessThan(LEASE_SECONDS * 1000)
  expect(TRUSTED_MS).toBeGreaterThan(2 * PACE.heartbeatMs)
  expect(openLane(CLAIMED, TARGET, 1000).heldUntil).toBe(1000 + TRUSTED_MS)
})

describe('a lane wants to be fetched for', () => {
  test('while it may hold more, and has less queued than it may send at once', () => {
    expect(isHungry(lane, NOW)).toBe(true)
    lane.queue = [{ id: 1 } as DueDelivery, { id: 2 } as DueDelivery]
    expect(isHungry(lane, NOW)).toBe(false)
    lane.queue = []
    lane.wantsMore = false
    expect(isHungry(lane, NOW)).toBe(false)
  })

  test('not in a pause, and not once it is over', () => {
    expect(isHungry(lane, NOW - 2000)).toBe(false)
    end(lane)
    expect(isHungry(lane, NOW)).toBe(false)
  })
})

test('a lane is quiet once all that was begun has ended and is written down', () => {
  expect(isQuiet(lane)).toBe(true)
  lane.running = 1
  lane.open.add(1)
  expect(isQuiet(lane)).toBe(false)
  lane.running = 0
  expect(isQuiet(lane)).toBe(false)
  lane.open.delete(1)
  expect(isQuiet(lane)).toBe(true)
})

test('what a lane knows of its receiver is kept as it was read, in whole slots', () => {
  lane.health = { ...lane.health, slots: 2.75 }
  const { failures, failure_share, failing_since, failed_at, paused_until } = CLAIMED
  expect(stateOf(lane)).toEqual({
    id: 7,
    epoch: 3,
    failures,
    failure_share,
    failing_since,
    failed_at,
    slots: 2,
    paused_until,
  })
  lane.health = { ...lane.health, failing_since: null, failedAt: 0, pausedUntil: 0 }
  expect(stateOf(lane)).toMatchObject({
    failing_since: null,
    failed_at: null,
    paused_until: null,
  })
})
