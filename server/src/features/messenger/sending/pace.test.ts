/** Tests how the gap between digests grows, and how long a failing chat is paused. */
import { describe, expect, test } from 'vitest'
import { CODE_LIFE } from '../linking/codes.ts'
import { type DigestPace, gapOf, nextGap, retryAfter } from './pace.ts'

/** Returns the times at which digests are sent for events at the given times, in seconds. */
function digestsOf(events: readonly number[]): number[] {
  const sent: number[] = []
  let pace: DigestPace = { gap: 0, digestAt: null }
  let waiting = events.map((at) => at * 1000)
  while (waiting.length > 0) {
    const queuedAt = waiting[0] as number
    const now = Math.max(queuedAt, pace.digestAt ?? 0)
    const gap = nextGap(pace, queuedAt)
    pace = { gap, digestAt: now + gapOf(gap) }
    waiting = waiting.filter((at) => at > now)
    sent.push(now / 1000)
  }
  return sent
}

const every = (seconds: number, count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => from + index * seconds)
const gapsOf = (times: number[]) => times.slice(1).map((at, index) => at - (times[index] as number))

describe('the gap between digests', () => {
  test('grows from 1 s to 2, 5, 10 and 30 s during a flood of events', () => {
    expect(gapsOf(digestsOf(every(0.004, 30_000)))).toEqual([1, 2, 5, 10, 30, 30, 30, 30])
  })

  test('grows while steady events follow soon after each gap', () => {
    const sent = digestsOf(every(1.5, 100))
    expect(gapsOf(sent).slice(0, 5)).toEqual([1.5, 2, 5, 10, 30])
    expect(sent.length).toBeLessThan(12)
  })

  test('grows to 30 s for one event every 20 s, and then delays the events', () => {
    expect(digestsOf(every(20, 12))).toEqual([0, 20, 40, 60, 80, 110, 140, 170, 200, 230])
  })

  test('returns to 1 s after a minute without events, and not before', () => {
    const flood = every(0.01, 2000)
    const last = digestsOf(flood).at(-1) as number
    const afterwards = (quiet: number) => {
      const next = last + quiet
      return gapsOf(digestsOf([...flood, next, next + 0.1, next + 1.1]).filter((at) => at >= next))
    }
    expect(last).toBe(48)
    expect(afterwards(60)).toEqual([1, 2])
    expect(afterwards(59)).toEqual([30])
  })
})

test('the bot doubles the wait after each consecutive failure, up to five minutes', () => {
  expect([1, 2, 3, 4, 9, 30].map((failures) => retryAfter(failures) / 1000)).toEqual([
    5, 10, 20, 40, 300, 300,
  ])
})

test('the bot retries a failed reply to a command before the reply expires', () => {
  expect(retryAfter(1000)).toBeLessThan(CODE_LIFE)
})
