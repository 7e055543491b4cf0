/** Histograms of durations. Their sums give the percentiles of any period, which percentiles alone could not. */

/** The lower bounds of the buckets after the first one, in milliseconds. Stored counts depend on them. */
export const BOUNDS = [
  5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 4_000,
  5_000, 7_500, 10_000, 15_000, 20_000, 30_000,
] as const

/** The bucket of a result without a duration. */
export const UNTIMED = -1

/** The number of results in each bucket. */
export type Histogram = ReadonlyMap<number, number>

/**
 * Returns the duration in milliseconds that this share of the results does not exceed, interpolated within its bucket.
 * Returns null if no result has a duration. Above the highest bound, returns that bound.
 */
export function percentile(histogram: Histogram, share: number): number | null {
  const steps = [...histogram].filter(([step]) => step !== UNTIMED).sort(([a], [b]) => a - b)
  const total = steps.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return null
  let below = 0
  for (const [step, count] of steps) {
    const from = BOUNDS[step - 1] ?? 0
    const to = BOUNDS[step] ?? from
    if (below + count >= share * total)
      return Math.round(from + ((share * total - below) / count) * (to - from))
    below += count
  }
  return BOUNDS.at(-1) ?? null
}
