/** How the gap between digests grows, and how long a failing chat is left alone. */
import { describe, expect, test } from 'vitest'
import { CODE_LIFE } from '../linking/codes.ts'
import { type DigestPace, gapOf, nextGap, retryAfter } from './pace.ts'

/** Returns when a chat is sent digests, for events at these times; all in seconds. */
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
  test('grows from 1 s over 2, 5 and 10 to 30 s in a flood', () => {
    expect(gapsOf(digestsOf(every(0.004, 30_000)))).toEqual([1, 2, 5, 10, 30, 30, 30, 30])
  })

  test('grows for a steady trickle, each event of which comes after the gap', () => {
    const sent = digestsOf(every(1.5, 100))
    expect(gapsOf(sent).slice(0, 5)).toEqual([1.5, 2, 5, 10, 30])
    expect(sent.length).toBeLessThan(12)
  })

  test('holds an event every 20 s back as well, once it is 30 s', () => {
    expect(digestsOf(every(20, 12))).toEqual([0, 20, 40, 60, 80, 110, 140, 170, 200, 230])
  })

  test('is 1 s again after a quiet minute, and not before', () => {
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

test('failures in a row are waited for ever longer, five minutes at the most', () => {
  expect([1, 2, 3, 4, 9, 30].map((failures) => retryAfter(failures) / 1000)).toEqual([
    5, 10, 20, 40, 300, 300,
  ])
})

test('an answer to a command does not outlive its use in the wait behind failures', () => {
  expect(retryAfter(1000)).toBeLessThan(CODE_LIFE)
})
