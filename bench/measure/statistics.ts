/** The arithmetic of the measurements: medians and ratios of rounds. */

/** Returns the middle value, or the mean of the two in the middle of an even number. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no median of nothing')
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}

/** Returns the value that this share of the values does not exceed (the nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError('there is no percentile of nothing')
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** The result of the rounds of two contenders. */
export interface Outcome {
  ours: number
  baseline: number
  /** The median of the rounds' ratios. A ratio is robust, because a slow machine affects both sides of a round. */
  ratio: number
}

/**
 * @param rounds the rates of both contenders, measured right after each other
 * @throws RangeError if the baseline completed nothing in a round, because any ratio would flatter the service
 */
export function outcomeOf(rounds: readonly { ours: number; baseline: number }[]): Outcome {
  if (rounds.some(({ baseline }) => baseline === 0))
    throw new RangeError('the baseline got nothing done in one of the turns: make them longer')
  return {
    ours: median(rounds.map(({ ours }) => ours)),
    baseline: median(rounds.map(({ baseline }) => baseline)),
    ratio: median(rounds.map(({ ours, baseline }) => ours / baseline)),
  }
}
