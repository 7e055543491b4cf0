/** Tells whether two series of durations clearly differ (Mann–Whitney U, and the medians). */

/** Of equal series fewer than one pair in a million is found to differ. */
const ALPHA_Z = 4.9
/** What a stranger on the network might still tell apart: a tenth of what a call takes. */
const MIN_DIFFERENCE = 0.1

export interface Comparison {
  /** Standard deviations that the ranks are away from those of equal series. */
  z: number
  medians: [number, number]
  differ: boolean
}

/** Both must say so: the ranks beyond chance, and the medians by enough to matter. */
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
    // Equal values share the mean of their ranks.
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
