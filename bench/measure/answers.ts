/** The responses to calls, counted by status, with `none` for calls without a response. */

export type Answers = Record<string, number>

export function count(answers: Answers, status: number | 'none'): void {
  answers[status] = (answers[status] ?? 0) + 1
}

/** Returns how many responses have a status that is not allowed. Missing responses are included. */
export function othersThan(answers: Answers, allowed: (status: number) => boolean): number {
  return Object.entries(answers)
    .filter(([status]) => !allowed(Number(status)))
    .reduce((sum, [, times]) => sum + times, 0)
}

/** Formats counts by status: `200: 12, 429: 1,300`. */
export function shown(answers: Answers): string {
  const parts = Object.entries(answers).map(
    ([status, times]) => `${status}: ${times.toLocaleString('en-US')}`,
  )
  return parts.join(', ') || 'no answers'
}
