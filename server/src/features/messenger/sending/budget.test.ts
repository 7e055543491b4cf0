/** The rate of all messages together. */

import { beforeEach, describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
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
const SUSPECTS = ['a', 'b', 'c', 'd'] as const
const limited = (chat: string, retryMs: number): Ending => ({ kind: 'limited', chat, retryMs })

const later = (ms: number): void => {
  now += ms
}

/** Takes a place that there has to be. */
function taken(rank: Rank = 'known'): Place {
  const place = budget.take(rank)
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
  const places = SUSPECTS.map(() => taken())
  for (const [index, chat] of SUSPECTS.entries()) places[index]?.end(limited(chat, 10_000))
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

  /** These chats are refused one after the other, with something in between. */
  function refuse(chats: readonly string[], between: () => void = () => undefined): void {
    for (const chat of chats.slice(0, -1)) taken().end(limited(chat, 30_000))
    const last = taken()
    between()
    last.end(limited(chats.at(-1) as string, 30_000))
  }

  test('for four chats within 5 s holds all, at first for a second', () => {
    refuse(SUSPECTS, () => later(4999))
    expect(RANKS.map(budget.take)).toEqual([1000, 1000, 1000])
  })

  test.each([
    ['three chats, however often', () => refuse(['a', 'b', 'c', 'a', 'b', 'c', 'a'])],
    [
      'four with a message between them that arrived',
      () => refuse(SUSPECTS, () => taken().end(ARRIVED)),
    ],
    ['four of which one was more than 5 s before', () => refuse(SUSPECTS, () => later(5001))],
  ])('for %s holds nobody', (_, refusals) => {
    refusals()
    taken()
  })

  test('for chats that fail anyway holds nobody, and has another go ahead', () => {
    for (let chat = 0; chat < 8; chat += 1) taken('failing').end(limited(`f${chat}`, 30_000))
    hold()
    for (let probe = 0; probe < 5; probe += 1) {
      // Never longer: it is none of those who are told to wait.
      expect(wait()).toBe(1000)
      now += 1000
      taken('failing').end(limited(`f${probe}`, 30_000))
    }
    now += 1000
    taken().end(ARRIVED)
    expect(takeAll('known')).toBeGreaterThan(20)
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
