/** Tests the rate limit that all messages of the bot share. */

import { beforeEach, describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import {
  type ChatBudget,
  openChatBudget,
  RANKS,
  type Rank,
  type SendEnding,
  type SendSlot,
} from './budget.ts'

let now: number
let budget: ChatBudget
beforeEach(() => {
  now = 1_000_000
  budget = openChatBudget(() => now)
  // Waits until messages that another process may have sent no longer count against the limit.
  now += 1010
})

const ARRIVED: SendEnding = { kind: 'arrived' }
const SUSPECTS = ['a', 'b', 'c', 'd'] as const
const limited = (chat: string, retryMs: number): SendEnding => ({ kind: 'limited', chat, retryMs })

const later = (ms: number): void => {
  now += ms
}

/** Reserves a slot, and fails if none is available. */
function taken(rank: Rank = 'known'): SendSlot {
  const place = budget.take(rank)
  if (typeof place === 'number') throw new Error(`there is no place for ${place} ms`)
  return place
}

/** Returns the milliseconds until a slot becomes available, and fails if one is available now. */
function wait(): number {
  const place = budget.take('known')
  if (typeof place !== 'number') throw new Error('there is a place')
  return place
}

/** Reserves all available slots and sends messages that get no response. Returns the number of messages. */
function takeAll(rank: Rank): number {
  for (let count = 0; ; count += 1) {
    const place = budget.take(rank)
    if (typeof place === 'number') return count
    place.sent()
  }
}

/** Causes a pause of one second for all messages. */
function hold(): void {
  const places = SUSPECTS.map(() => taken())
  for (const [index, chat] of SUSPECTS.entries()) places[index]?.end(limited(chat, 10_000))
}

describe('the rate of bot messages', () => {
  test('is at most 30 messages in any second, and close to that', () => {
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

  test.each(['failing', 'stranger'] as const)(
    'is limited to a third for chats of the rank "%s"',
    (rank) => {
      expect(takeAll(rank)).toBe(10)
      expect(takeAll('known')).toBe(20)
      now += 1110
      expect(takeAll('known')).toBe(30)
      expect(budget.take(rank)).toEqual(expect.any(Number))
    },
  )

  test('reserves a share for failing chats that strangers cannot use', () => {
    expect(takeAll('stranger')).toBe(10)
    expect(takeAll('failing')).toBe(10)
  })

  test('starts without free slots, because another process may have just sent messages for the bot', () => {
    const next = openChatBudget(() => now)
    expect(next.take('known')).toBe(1010)
    now += 1010
    expect(typeof next.take('known')).toBe('object')
  })

  test("stays within the provider's limit even if messages are slow to compose or to arrive", () => {
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
          const one = openChatBudget(() => at)
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

  test('frees the slots of messages that get no response', () => {
    for (let second = 0; second < 3; second += 1) {
      expect(takeAll('known')).toBe(30)
      now += 1110
    }
  })

  test('does not count messages that were not sent', () => {
    const unsent = taken()
    expect(takeAll('known')).toBe(29)
    unsent.end({ kind: 'unsent' })
    expect(takeAll('known')).toBe(1)
  })
})

describe('a response 429 (too many messages)', () => {
  test('pauses only one chat if the response is about that chat', () => {
    taken().end(limited('a', 3_600_000))
    taken().end(limited('a', 3_600_000))
    taken()
  })

  /** Ends a message to each chat with a refusal, one after the other. Calls `between` before the last refusal. */
  function refuse(chats: readonly string[], between: () => void = () => undefined): void {
    for (const chat of chats.slice(0, -1)) taken().end(limited(chat, 30_000))
    const last = taken()
    between()
    last.end(limited(chats.at(-1) as string, 30_000))
  }

  test('pauses all messages for a second after 429 responses for four chats within 5 s', () => {
    refuse(SUSPECTS, () => later(4999))
    expect(RANKS.map(budget.take)).toEqual([1000, 1000, 1000])
  })

  test.each([
    [
      'three chats, repeated any number of times',
      () => refuse(['a', 'b', 'c', 'a', 'b', 'c', 'a']),
    ],
    [
      'four chats with a delivered message in between',
      () => refuse(SUSPECTS, () => taken().end(ARRIVED)),
    ],
    ['four chats, one of them over 5 s earlier', () => refuse(SUSPECTS, () => later(5001))],
  ])('does not pause other messages after 429 responses for %s', (_, refusals) => {
    refusals()
    taken()
  })

  test('neither starts nor doubles a pause if the chats have failed before', () => {
    for (let chat = 0; chat < 8; chat += 1) taken('failing').end(limited(`f${chat}`, 30_000))
    hold()
    for (let probe = 0; probe < 5; probe += 1) {
      // The pause is never doubled, because a single failing chat does not indicate a limit of the whole bot.
      expect(wait()).toBe(1000)
      now += 1000
      taken('failing').end(limited(`f${probe}`, 30_000))
    }
    now += 1000
    taken().end(ARRIVED)
    expect(takeAll('known')).toBeGreaterThan(20)
  })

  test('allows one test message after the pause, and doubles the pause if that message gets a 429 too', () => {
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
    // The pause is never longer than the provider requested.
    expect(waits).toEqual([1, 2, 4, 8, 10, 10])
    now += wait()
    taken().end(ARRIVED)
    expect(takeAll('known')).toBeGreaterThan(20)
  })

  test('allows another test message if the first one has no result', () => {
    hold()
    now += wait()
    for (const kind of ['failed', 'unsent', 'failed'] as const) {
      taken().end({ kind })
      now += 1000
    }
    taken().end(ARRIVED)
    expect(takeAll('known')).toBeGreaterThan(20)
  })

  test('ends its pause after a delivered test message, not after a message sent before the pause', () => {
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
