/** Tests the limits on concurrent messages, and the choice of the queue that sends next. */
import { afterEach, describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { systemTime } from '../../../lib/time.ts'
import { openSendBudget } from './budget.ts'
import { openQueue } from './queue.ts'

const MOMENT = 1000
const LIMITS = { quick: 3, slow: 4, slowAfterMs: MOMENT }
const NOWHERE = { url: '', keys: [] }

let now = 0
const clock = { ...systemTime, monotonic: () => now }

afterEach(() => {
  now = 0
})

const queueOf = (tenant_id: number, webhook_id = tenant_id) =>
  openQueue(
    {
      webhook_id,
      tenant_id,
      epoch: 1,
      failures: 0,
      failure_share: 0,
      failing_since: null,
      failed_at: null,
      slots: 4,
      paused_until: null,
      resets: 0,
      url: '',
      secrets: [],
    },
    { target: NOWHERE, askedAt: 0, clock },
  )

describe('the send budget', () => {
  test('allows no further message when the limit of quick messages is reached', () => {
    const budget = openSendBudget(LIMITS, clock)
    const ends = [1, 2, 3].map((tenant) => budget.begin(queueOf(tenant)))
    expect(budget.hasRoom()).toBe(false)
    ends[0]?.()
    expect(budget.hasRoom()).toBe(true)
  })

  test('counts a long-running message as slow, so that another quick message may start', () => {
    const budget = openSendBudget(LIMITS, clock)
    const queue = queueOf(1)
    for (let count = 0; count < 3; count += 1) budget.begin(queue)
    now = MOMENT - 1
    expect([budget.classify(), budget.hasRoom(), budget.isSlow(queue)]).toEqual([
      false,
      false,
      false,
    ])
    now = MOMENT
    expect([budget.classify(), budget.hasRoom(), budget.isSlow(queue)]).toEqual([true, true, true])
    expect(budget.classify()).toBe(false)
  })

  test('limits slow messages, and counts messages over the limit as quick', () => {
    const budget = openSendBudget(LIMITS, clock)
    for (let count = 0; count < 2; count += 1) {
      for (let each = 0; each < 3; each += 1) budget.begin(queueOf(1))
      now += MOMENT
      budget.classify()
    }
    // Four of the six messages count as slow.
    budget.begin(queueOf(2))
    expect(budget.hasRoom()).toBe(false)
  })

  test('counts the next waiting message as slow after a slow message has ended', () => {
    const budget = openSendBudget({ ...LIMITS, slow: 1 }, clock)
    const queues = [queueOf(1), queueOf(2)] as const
    const endFirst = budget.begin(queues[0])
    budget.begin(queues[1])
    now = MOMENT
    budget.classify()
    expect(queues.map(budget.isSlow)).toEqual([true, false])
    endFirst()
    expect(budget.classify()).toBe(true)
    expect(queues.map(budget.isSlow)).toEqual([false, true])
  })
})

describe('the next queue to send from', () => {
  test('belongs to the tenant with the fewest messages being sent', () => {
    const budget = openSendBudget(LIMITS, clock)
    const crowd = [queueOf(1, 11), queueOf(1, 12), queueOf(1, 13)]
    const single = queueOf(2, 21)
    expect(budget.next([...crowd, single])).toBe(crowd[0])
    budget.begin(crowd[0] ?? single)
    expect(budget.next([...crowd, single])).toBe(single)
  })

  test('is undefined if no queue may send', () => {
    expect(openSendBudget(LIMITS, clock).next([])).toBeUndefined()
  })
})

test('the send budget respects the limits and takes turns between tenants in any order of events', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('send' as const), among: fc.subarray([0, 1, 2, 3, 4, 5]) }),
    fc.record({ kind: fc.constant('end' as const), which: fc.nat() }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(2 * MOMENT) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      now = 0
      const budget = openSendBudget(LIMITS, clock)
      // Two tenants with one queue each, and two tenants with two queues each.
      const queues = [1, 2, 3, 3, 4, 4].map((tenant, index) => queueOf(tenant, index))
      const running: { tenant: number; end: () => void }[] = []
      const busy = (tenant: number) => running.filter((one) => one.tenant === tenant).length
      for (const one of steps) {
        if (one.kind === 'end') {
          const [ended] = running.splice(one.which % Math.max(1, running.length), 1)
          ended?.end()
        } else if (one.kind === 'wait') {
          now += one.ms
          budget.classify()
        } else if (budget.hasRoom()) {
          const ready = queues.filter((_, index) => one.among.includes(index))
          const next = budget.next(ready)
          const least = Math.min(...ready.map(({ tenantId }) => busy(tenantId)))
          expect(next === undefined ? [] : [busy(next.tenantId)]).toEqual(
            ready.length === 0 ? [] : [least],
          )
          if (next) running.push({ tenant: next.tenantId, end: budget.begin(next) })
        }
        expect(running.length).toBeLessThanOrEqual(LIMITS.quick + LIMITS.slow)
      }
      for (const { end } of running) end()
      expect([budget.hasRoom(), queues.some(budget.isSlow)]).toEqual([true, false])
    }),
  )
})
