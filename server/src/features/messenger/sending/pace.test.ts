/** How the gap between digests grows, and how long a failing chat is left alone. */
import { describe, expect, test } from 'vitest'
import { gapOf, nextGap, retryAfter } from './pace.ts'

describe('the gap behind a digest', () => {
  test('is a second at first, and again after a quiet minute', () => {
    expect(nextGap({ gap: 0, sentAt: null, digestAt: null }, 0, 0)).toBe(0)
    expect(nextGap({ gap: 4, sentAt: 0, digestAt: 30_000 }, 59_000, 60_000)).toBe(0)
  })

  test('grows while more keeps coming, to half a minute', () => {
    let pace = { gap: 0, sentAt: 0, digestAt: 1000 }
    const gaps = [gapOf(pace.gap)]
    for (let sent = 0; sent < 6; sent += 1) {
      const now = pace.digestAt
      const gap = nextGap(pace, now - 500, now)
      pace = { gap, sentAt: now, digestAt: now + gapOf(gap) }
      gaps.push(gapOf(gap))
    }
    expect(gaps.map((ms) => ms / 1000)).toEqual([1, 2, 5, 10, 30, 30, 30])
  })

  test('stays as it is for what came when the gap was over', () => {
    expect(nextGap({ gap: 1, sentAt: 0, digestAt: 2000 }, 2500, 2500)).toBe(1)
  })
})

test('failures in a row are waited for ever longer, a quarter of an hour at the most', () => {
  expect([1, 2, 3, 4, 9, 30].map((failures) => retryAfter(failures) / 1000)).toEqual([
    5, 10, 20, 40, 900, 900,
  ])
})
