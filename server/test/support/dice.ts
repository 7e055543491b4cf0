/** Random choices that a seed repeats. */
export interface Dice {
  /** A whole number from 0 to one less than `sides`. */
  roll(sides: number): number
  pick<T>(of: readonly T[]): T
}

/** After mulberry32, public domain (Tommy Ettinger): 32 bits of state are plenty for a test. */
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
