/** Chance that comes out the same on every run, so that two runs measure the same data. */

export interface Chance {
  /** 0 ≤ number < 1 */
  next(): number
  below(limit: number): number
  pick<T>(from: readonly T[]): T
}

/** Mulberry32: small, fast, and even enough for names and dates. */
export function chance(seed: number): Chance {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { next, below, pick: (from) => from[below(from.length)] as (typeof from)[number] }
}
