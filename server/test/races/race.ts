/** Sets work off all at once and counts how it ended. */
import type { Answer } from '../support/service.ts'

export const AT_ONCE = 16

/** Starts `count` pieces of work before any has ended; answers what each came to. */
export function atOnce<T>(work: (index: number) => Promise<T>, count = AT_ONCE): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

/** How many answers have each status: `{201: 1, 409: 15}`. */
export function tally(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
