/** The arithmetic of the measurements: medians and ratios of rounds. */

/** The middle value; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('there is no median of nothing')
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}

/** The value that this share of the values does not exceed (the nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new RangeError('there is no percentile of nothing')
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** What rounds of two contenders come to. */
export interface Outcome {
  ours: number
  baseline: number
  /** The median of the rounds' own ratios: what slows the machine down slows both of a round. */
  ratio: number
}

/**
 * @param rounds the rates of both, measured right after each other
 * @throws RangeError when the baseline got nothing done in one: any ratio would flatter
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
