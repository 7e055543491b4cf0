/** The rate of all messages together. */
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Budget, type Ending, openBudget, type Place, RANKS, type Rank } from './budget.ts'

let now: number
let budget: Budget
beforeEach(() => {
  now = 1_000_000
  budget = openBudget(() => now)
  // What may have been sent before it was opened is past.
  now += 1010
})

const ARRIVED: Ending = { kind: 'arrived' }
const limited = (chat: string, retryMs: number): Ending => ({ kind: 'limited', chat, retryMs })

/** Takes a place that there has to be. */
function taken(): Place {
  const place = budget.take('known')
  if (typeof place === 'number') throw new Error(`there is no place for ${place} ms`)
  return place
}

/** Returns the milliseconds that there is no place, which there has not to be. */
function wait(): number {
  const place = budget.take('known')
  if (typeof place !== 'number') throw new Error('there is a place')
  return place
}

/** Takes as many places as there are now, and has the messages sent, of which none is answered. */
function takeAll(rank: Rank): number {
  for (let count = 0; ; count += 1) {
    const place = budget.take(rank)
    if (typeof place === 'number') return count
    place.sent()
  }
}

/** Has all messages held for a second. */
function hold(): void {
  const [a, b] = [taken(), taken()]
  a.end(limited('a', 10_000))
  b.end(limited('b', 10_000))
}

describe('the rate', () => {
  test('is 30 in any second at the most, and not far below', () => {
    const sent: number[] = []
    const end = now + 60_000
    while (now < end) {
      const place = budget.take('known')
      if (typeof place === 'number') now += Math.ceil(place)
      else {
        sent.push(now)
        place.sent()
        place.end(ARRIVED)
      }
    }
    for (const [index, at] of sent.entries())
      if (index >= 30) expect(at - (sent[index - 30] as number)).toBeGreaterThan(1000)
    expect(sent.length / 60).toBeGreaterThan(28)
  })

  test.each(['failing', 'stranger'] as const)('of %s chats is a third of it', (rank) => {
    expect(takeAll(rank)).toBe(10)
    expect(takeAll('known')).toBe(20)
    now += 1110
    expect(takeAll('known')).toBe(30)
    expect(budget.take(rank)).toEqual(expect.any(Number))
  })

  test('of failing chats is not taken up by strangers', () => {
    expect(takeAll('stranger')).toBe(10)
    expect(takeAll('failing')).toBe(10)
  })

  test('begins as spent, as another process may have been the bot just before', () => {
    const next = openBudget(() => now)
    expect(next.take('known')).toBe(1010)
    now += 1010
    expect(typeof next.take('known')).toBe('object')
  })

  test('is kept as the provider counts, however long messages take to be made and to arrive', () => {
    const delay = fc.integer({ min: 0, max: 99 })
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(fc.constantFrom(...RANKS), delay, fc.integer({ max: 900, min: 0 }), delay),
          {
            minLength: 60,
            maxLength: 300,
          },
        ),
        (asked) => {
          let at = 0
          const one = openBudget(() => at)
          const arrived: [Rank, number][] = []
          let later: [number, () => void][] = []
          const moveTo = (time: number) => {
            const due = later.filter(([when]) => when <= time).sort(([a], [b]) => a - b)
            later = later.filter(([when]) => when > time)
            for (const [when, work] of due) {
              at = when
              work()
            }
            at = time
          }
          for (const [rank, pause, making, answering] of asked) {
            moveTo(at + pause)
            const place = one.take(rank)
            if (typeof place === 'number') continue
            const [sent, answered] = [at + making, at + making + answering]
            later.push([sent, place.sent], [answered, () => place.end(ARRIVED)])
            arrived.push([rank, sent + Math.floor(answering * (making / 900))])
          }
          for (const [, since] of arrived) {
            const within = arrived.filter(([, time]) => time >= since && time < since + 1000)
            expect(within.length).toBeLessThanOrEqual(30)
            for (const lesser of ['failing', 'stranger'])
              expect(within.filter(([rank]) => rank === lesser).length).toBeLessThanOrEqual(10)
          }
        },
      ),
    )
  })

  test('goes on past messages that nobody answers', () => {
    for (let second = 0; second < 3; second += 1) {
      expect(takeAll('known')).toBe(30)
      now += 1110
    }
  })

  test('counts only what was sent', () => {
    const unsent = taken()
    expect(takeAll('known')).toBe(29)
    unsent.end({ kind: 'unsent' })
    expect(takeAll('known')).toBe(1)
  })
})

describe('too much', () => {
  test('for one chat holds nobody else', () => {
    taken().end(limited('a', 3_600_000))
    taken().end(limited('a', 3_600_000))
    taken()
  })

  test('for two chats within 5 s holds all, at first for a second', () => {
    const [a, b] = [taken(), taken()]
    a.end(limited('a', 30_000))
    now += 4999
    b.end(limited('b', 30_000))
    expect(RANKS.map(budget.take)).toEqual([1000, 1000, 1000])
  })

  test('for two chats with a message between them that arrived holds nobody', () => {
    taken().end(limited('a', 30_000))
    taken().end(ARRIVED)
    taken().end(limited('b', 30_000))
    taken()
  })

  test('for two chats more than 5 s apart holds nobody', () => {
    taken().end(limited('a', 30_000))
    now += 5001
    taken().end(limited('b', 30_000))
    taken()
  })

  test('lets one message go ahead after the wait, and waits longer where it is refused too', () => {
    hold()
    const waits: number[] = []
    for (let probe = 0; probe < 6; probe += 1) {
      const ms = wait()
      waits.push(ms / 1000)
      now += ms
      const place = taken()
      wait()
      place.end(limited(`c${probe}`, 10_000))
    }
    // Never longer than the provider has said.
    expect(waits).toEqual([1, 2, 4, 8, 10, 10])
    now += wait()
    taken().end(ARRIVED)
    expect(takeAll('known')).toBeGreaterThan(20)
  })

  test('lets another message go ahead where nothing came of the first one', () => {
    hold()
    now += wait()
    for (const kind of ['failed', 'unsent', 'failed'] as const) {
      taken().end({ kind })
      now += 1000
    }
    taken().end(ARRIVED)
    expect(takeAll('known')).toBeGreaterThan(20)
  })

  test('is not what a message says that was under way before the hold', () => {
    const early = taken()
    hold()
    now += wait()
    const probe = taken()
    early.end({ kind: 'failed' })
    wait()
    probe.end(ARRIVED)
    taken()
  })
})
