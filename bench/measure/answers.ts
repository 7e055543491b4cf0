/** How calls were answered: counted by status, with `none` for a call that got no answer at all. */

export type Answers = Record<string, number>

export function count(answers: Answers, status: number | 'none'): void {
  answers[status] = (answers[status] ?? 0) + 1
}

/** How many answers have a status that `allowed` does not hold; a call without an answer is one. */
export function othersThan(answers: Answers, allowed: (status: number) => boolean): number {
  return Object.entries(answers)
    .filter(([status]) => !allowed(Number(status)))
    .reduce((sum, [, times]) => sum + times, 0)
}

/** `200: 12, 429: 1,300`, by status. */
export function shown(answers: Answers): string {
  const parts = Object.entries(answers).map(
    ([status, times]) => `${status}: ${times.toLocaleString('en-US')}`,
  )
  return parts.join(', ') || 'no answers'
}
