/** Decides whether two series of durations clearly differ (Mann–Whitney U, and the medians). */

/** Reports a difference in fewer than one of a million pairs of series that are in fact equal. */
const ALPHA_Z = 4.9
/** The smallest difference that an attacker on the network could still detect: a tenth of a call's duration. */
const MIN_DIFFERENCE = 0.1

export interface Comparison {
  /** The number of standard deviations between the rank sum and the sum expected for equal series. */
  z: number
  medians: [number, number]
  differ: boolean
}

/**
 * Reports a difference only if both the ranks and the medians differ. The ranks exclude chance, and the medians exclude
 * irrelevant differences.
 */
export function compare(a: readonly number[], b: readonly number[]): Comparison {
  const ranked = [
    ...a.map((value) => ({ value, isA: true })),
    ...b.map((value) => ({ value, isA: false })),
  ]
  ranked.sort((x, y) => x.value - y.value)
  let rankSum = 0
  for (let start = 0; start < ranked.length; ) {
    let end = start
    while (ranked[end]?.value === ranked[start]?.value && end < ranked.length) end += 1
    // Equal durations share the mean of their ranks.
    const rank = (start + 1 + end) / 2
    rankSum += rank * ranked.slice(start, end).filter(({ isA }) => isA).length
    start = end
  }
  const [n, m] = [a.length, b.length]
  const u = rankSum - (n * (n + 1)) / 2
  const z = (u - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12)
  const medians: [number, number] = [median(a), median(b)]
  const apart = Math.abs(medians[0] - medians[1]) / Math.min(...medians)
  return { z, medians, differ: Math.abs(z) > ALPHA_Z && apart > MIN_DIFFERENCE }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((x, y) => x - y)
  const middle = sorted.length >> 1
  return ((sorted[middle] ?? 0) + (sorted[(sorted.length - 1) >> 1] ?? 0)) / 2
}
