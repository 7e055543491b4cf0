/**
 * Many byte strings as the parameters of one statement. An array of them would travel as text, in twice
 * as many bytes, which both sides go through one by one.
 */
export interface Packed {
  bytes: Buffer
  /** Where each begins, from 1 as SQL counts. */
  starts: number[]
  /** Null of those that there are not, whose `substr` is null as well. */
  lengths: (number | null)[]
}

export function packed(parts: readonly (Buffer | null)[]): Packed {
  let next = 1
  const starts = parts.map((part) => {
    const start = next
    next += part?.length ?? 0
    return start
  })
  const bytes = Buffer.concat(parts.filter((part) => part !== null))
  return { bytes, starts, lengths: parts.map((part) => part?.length ?? null) }
}
