/** A reproducible random generator, so that two runs measure the same data. */

export interface Chance {
  /** Returns a number with 0 ≤ number < 1. */
  next(): number
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  /** Returns this many bytes as lower-case hexadecimal digits. */
  hex(bytes: number): string
  /** Returns a version 4 UUID (RFC 9562 §5.4). */
  uuid(): string
}

/** The number of bytes that one step generates. */
const STEP = 4

/** Creates a Mulberry32 generator: small, fast, and uniform enough for names and dates. */
export function chance(seed: number): Chance {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  const hex = (bytes: number) => {
    let digits = ''
    for (let made = 0; made < bytes; made += STEP)
      digits += Math.floor(next() * 2 ** 32)
        .toString(16)
        .padStart(2 * STEP, '0')
    return digits.slice(0, 2 * bytes)
  }
  return {
    next,
    below,
    pick: (from) => from[below(from.length)] as (typeof from)[number],
    hex,
    uuid() {
      const digits = hex(16)
      const [first, second] = [digits.slice(0, 8), digits.slice(8, 12)]
      return `${first}-${second}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`
    },
  }
}
