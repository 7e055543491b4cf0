import { expect, test } from 'vitest'
import { BOUNDS, percentile, UNTIMED } from './durations.ts'

/** Returns the histogram of durations, as the database counts them. */
function histogramOf(durations: readonly number[]): Map<number, number> {
  const histogram = new Map<number, number>()
  for (const duration of durations) {
    const step = BOUNDS.filter((bound) => bound <= duration).length
    histogram.set(step, (histogram.get(step) ?? 0) + 1)
  }
  return histogram
}

test('a percentile is estimated within the bucket of the exact value', () => {
  const durations = Array.from({ length: 1_000 }, (_, n) => n + 1)
  const histogram = histogramOf(durations)
  expect(percentile(histogram, 0.5)).toBeGreaterThanOrEqual(490)
  expect(percentile(histogram, 0.5)).toBeLessThanOrEqual(510)
  expect(percentile(histogram, 0.95)).toBeGreaterThanOrEqual(930)
  expect(percentile(histogram, 0.95)).toBeLessThanOrEqual(970)
})

test('a percentile of results without durations is null', () => {
  expect(percentile(new Map(), 0.5)).toBeNull()
  expect(percentile(new Map([[UNTIMED, 3]]), 0.5)).toBeNull()
})

test('a percentile never exceeds the highest bound', () => {
  expect(percentile(histogramOf([90_000, 90_000]), 0.95)).toBe(30_000)
})

test('a percentile ignores results without a duration', () => {
  const histogram = histogramOf([60, 60])
  const before = percentile(histogram, 0.95)
  expect(percentile(histogram.set(UNTIMED, 100), 0.95)).toBe(before)
})
