/** The rate of all messages together. */
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Budget, openBudget } from './budget.ts'

let now: number
let budget: Budget
beforeEach(() => {
  now = 1_000_000
  budget = openBudget(() => now)
})

/** Takes as many places as there are now. */
function takeAll(rank: 'known' | 'lesser'): number {
  let taken = 0
  while (budget.take(rank) === 0) taken += 1
  return taken
}

describe('the rate', () => {
  test('is below 30 in any second, and not far below', () => {
    const sent: number[] = []
    const end = now + 60_000
    while (now < end) {
      const wait = budget.take('known')
      if (wait === 0) sent.push(now)
      else now += Math.ceil(wait)
    }
    for (const [index, at] of sent.entries())
      if (index >= 30) expect(at - (sent[index - 30] as number)).toBeGreaterThan(1000)
    expect(sent.length / 60).toBeGreaterThan(27)
  })

  test('of strangers and failing chats is a third of it', () => {
    expect(takeAll('lesser')).toBe(10)
    expect(takeAll('known')).toBe(19)
    now += 1030
    expect(takeAll('known')).toBe(29)
    expect(budget.take('lesser')).toBeGreaterThan(0)
  })

  test('is never more than the rule, whoever asks when', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('known', 'lesser'), fc.integer({ min: 0, max: 90 })), {
          maxLength: 400,
        }),
        (asked) => {
          let at = 0
          const one = openBudget(() => at)
          const taken: ['known' | 'lesser', number][] = []
          for (const [rank, pause] of asked as ['known' | 'lesser', number][]) {
            at += pause
            if (one.take(rank) === 0) taken.push([rank, at])
          }
          for (const [, since] of taken) {
            const within = taken.filter(([, time]) => time >= since && time < since + 1000)
            expect(within.length).toBeLessThan(30)
            expect(within.filter(([rank]) => rank === 'lesser').length).toBeLessThanOrEqual(10)
          }
        },
      ),
    )
  })

  test('counts only what was sent', () => {
    expect(takeAll('known')).toBe(29)
    budget.giveBack('known')
    expect(takeAll('known')).toBe(1)
  })
})

describe('too much', () => {
  test('for one chat holds nobody else', () => {
    budget.limited('a', 3_600_000)
    budget.limited('a', 3_600_000)
    expect(budget.take('known')).toBe(0)
  })

  test('for two chats within 5 s holds all, at first for a second', () => {
    budget.limited('a', 30_000)
    now += 4999
    budget.limited('b', 30_000)
    expect(budget.take('known')).toBe(1000)
    expect(budget.take('lesser')).toBe(1000)
  })

  test('for two chats with a message between them that arrived holds nobody', () => {
    budget.limited('a', 30_000)
    budget.succeeded()
    budget.limited('b', 30_000)
    expect(budget.take('known')).toBe(0)
  })

  test('for two chats more than 5 s apart holds nobody', () => {
    budget.limited('a', 30_000)
    now += 5001
    budget.limited('b', 30_000)
    expect(budget.take('known')).toBe(0)
  })

  test('lets one message go ahead after the wait, and waits longer where it is refused too', () => {
    budget.limited('a', 10_000)
    budget.limited('b', 10_000)
    const waits: number[] = []
    for (let probe = 0; probe < 6; probe += 1) {
      const wait = budget.take('known')
      waits.push(wait / 1000)
      now += wait
      expect(budget.take('known')).toBe(0)
      expect(budget.take('known')).toBeGreaterThan(0)
      budget.limited(`c${probe}`, 10_000)
    }
    // Never longer than the provider has said.
    expect(waits).toEqual([1, 2, 4, 8, 10, 10])
    now += budget.take('known')
    expect(budget.take('known')).toBe(0)
    budget.succeeded()
    expect(takeAll('known')).toBeGreaterThan(20)
  })
})
