/** Tests when a queue may send, when it needs more deliveries, and when it counts as quiet. */
import { beforeEach, describe, expect, test } from 'vitest'
import { type ClaimedQueue, QUEUE_LEASE_SECONDS } from './claims.store.ts'
import type { DueDelivery } from './deliveries.store.ts'
import { openQueue, type Queue, TRUSTED_MS } from './queue.ts'
import { TUNING } from './tuning.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
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

let now: number
let monotonic: number
let queue: Queue

const clock = { now: () => now, monotonic: () => monotonic }
const due = (...ids: number[]) => ids.map((id) => ({ id, resource_type: 'user' }) as DueDelivery)

function open(claimed: Partial<ClaimedQueue> = {}, lapsed?: Queue): Queue {
  const options = { target: TARGET, askedAt: monotonic, clock, lapsed }
  return openQueue({ ...CLAIMED, ...claimed }, options)
}

/** Adds deliveries to the queue, as a fetch does. Returns the deliveries that cannot be sent. */
const fetch = (of: Queue, ...ids: number[]) => of.endFetch(due(...ids), of.startFetch())

/** Begins all waiting deliveries. Returns their ids. */
function idsOf(of: Queue): number[] {
  const begun = of.begin()
  return begun ? [begun.id, ...idsOf(of)] : []
}

beforeEach(() => {
  now = NOW
  monotonic = 1_000
  queue = open()
})

describe('sending from a webhook queue', () => {
  test('starts waiting deliveries after the pause has ended', () => {
    fetch(queue, 1)
    expect(queue.maySend()).toBe(true)
    now = NOW - 2000
    expect(queue.maySend()).toBe(false)
    now = NOW
    queue.begin()
    expect(queue.maySend()).toBe(false)
  })

  test.each([
    ['whole slots only', { slots: 2.9, failures: 0 }],
    ['half of the slots after three failures in a row', { slots: 4, failures: 3 }],
  ])('uses %s for concurrent messages', (_, state) => {
    queue = open(state)
    fetch(queue, 1, 2, 3)
    queue.begin()
    expect(queue.maySend()).toBe(true)
    queue.begin()
    expect(queue.maySend()).toBe(false)
  })

  test('starts no delivery when the lease may have expired', () => {
    fetch(queue, 1)
    monotonic += TRUSTED_MS
    expect(queue.maySend()).toBe(false)
    queue.renewed(monotonic)
    expect(queue.maySend()).toBe(true)
  })

  test('starts no delivery after the queue was ended', () => {
    fetch(queue, 1)
    queue.end()
    expect(queue.maySend()).toBe(false)
    expect(queue.begin()).toBeUndefined()
  })
})

test('a webhook queue trusts a lease for less time than its duration, but longer than two heartbeats', () => {
  expect(TRUSTED_MS).toBeLessThan(QUEUE_LEASE_SECONDS * 1000)
  expect(TRUSTED_MS).toBeGreaterThan(2 * TUNING.heartbeatMs)
  expect(queue.leasedUntil).toBe(monotonic + TRUSTED_MS)
})

describe('fetching deliveries for a webhook queue', () => {
  test('is needed if fewer deliveries wait than may be sent concurrently', () => {
    expect(queue.isHungry()).toBe(true)
    fetch(queue, 1)
    queue.wantMore()
    expect(queue.isHungry()).toBe(true)
    fetch(queue, 2)
    queue.wantMore()
    expect(queue.isHungry()).toBe(false)
  })

  test('is not needed after a fetch that returned fewer deliveries than its limit', () => {
    fetch(queue)
    expect(queue.isHungry()).toBe(false)
    const limit = queue.startFetch()
    queue.endFetch(due(...Array(limit).keys()), limit)
    expect(queue.wantsMore).toBe(true)
  })

  test('is not needed during a pause, or after the queue was ended', () => {
    now = NOW - 2000
    expect(queue.isHungry()).toBe(false)
    now = NOW
    queue.end()
    expect(queue.isHungry()).toBe(false)
  })

  test('skips deliveries that are waiting, started, or were recorded during the fetch', () => {
    fetch(queue, 1, 2, 3)
    const [first, second] = [queue.begin(), queue.begin()] as [DueDelivery, DueDelivery]
    const limit = queue.startFetch()
    queue.endAttempt(queue.circuit)
    queue.settle(first)
    queue.endFetch(due(first.id, second.id, 3, 4), limit)
    expect(idsOf(queue)).toEqual([3, 4])
  })

  test('reports deliveries whose events no longer exist', () => {
    const lost = { id: 5, resource_type: null } as DueDelivery
    expect(queue.endFetch([lost, ...due(6)], queue.startFetch())).toEqual([lost])
    expect(idsOf(queue)).toEqual([6])
  })
})

describe('a delivery that must be sent first', () => {
  test('makes the queue fetch all waiting deliveries again in order', () => {
    fetch(queue, 1, 2, 3)
    queue.startOver()
    expect(queue.isHungry()).toBe(true)
    fetch(queue, 9, 1, 2, 3)
    expect(idsOf(queue)).toEqual([9, 1, 2, 3])
  })

  test('ends a pause that is not recorded yet', () => {
    queue.endAttempt({ ...queue.circuit, pausedUntil: NOW + 5000 })
    queue.startOver()
    expect(queue.isHungry()).toBe(true)
    fetch(queue, 9)
    expect(queue.maySend()).toBe(true)
  })

  test('is sent before the deliveries of a fetch that is still running', () => {
    const limit = queue.startFetch()
    queue.startOver()
    expect(queue.endFetch(due(1, 2, 3), limit)).toEqual([])
    expect(queue.waiting).toBe(0)
    expect(queue.isHungry()).toBe(true)
  })
})

test('a webhook queue reports a queue as quiet when all started deliveries have ended and are recorded', () => {
  expect(queue.isQuiet()).toBe(true)
  fetch(queue, 1)
  const delivery = queue.begin() as DueDelivery
  expect(queue.isQuiet()).toBe(false)
  queue.endAttempt(queue.circuit)
  expect(queue.isQuiet()).toBe(false)
  queue.settle(delivery)
  expect(queue.isQuiet()).toBe(true)
})

describe('a new lease of a webhook', () => {
  test('does not resend deliveries that were started during the expired lease', () => {
    fetch(queue, 1, 2)
    queue.begin()
    const next = open({}, queue)
    expect(queue.isOver).toBe(true)
    fetch(next, 1, 2)
    expect(idsOf(next)).toEqual([2])
  })

  test('resends all deliveries if the URL has changed', () => {
    fetch(queue, 1)
    queue.begin()
    const options = { askedAt: monotonic, clock, lapsed: queue }
    const next = openQueue(CLAIMED, {
      ...options,
      target: { url: 'https://other.test/', keys: [] },
    })
    fetch(next, 1)
    expect(idsOf(next)).toEqual([1])
  })
})

test('a webhook queue saves the circuit state of a receiver, with the concurrency rounded down', () => {
  const { failures, failure_share, failing_since, failed_at, paused_until } = CLAIMED
  expect(open({ slots: 2.75 }).state()).toEqual({
    id: 7,
    epoch: 3,
    failures,
    failure_share,
    failing_since,
    failed_at,
    slots: 2,
    paused_until,
  })
  queue.endAttempt({ ...queue.circuit, failing_since: null, failedAt: 0, pausedUntil: 0 })
  expect(queue.state()).toMatchObject({ failing_since: null, failed_at: null, paused_until: null })
})
