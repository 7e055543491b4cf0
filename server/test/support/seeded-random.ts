/** Random choices that a seed reproduces. */
export interface Dice {
  /** Returns a whole number from 0 to `sides` - 1. */
  roll(sides: number): number
  pick<T>(of: readonly T[]): T
}

/** Returns a generator after mulberry32, public domain (Tommy Ettinger). 32 bits of state suffice for a test. */
export function dice(seed: number): Dice {
  let state = seed >>> 0
  const roll = (sides: number) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides
  }
  return {
    roll,
    pick<T>(of: readonly T[]): T {
      if (of.length === 0) throw new Error('there is nothing to pick from')
      return of[roll(of.length)] as T
    },
  }
}
