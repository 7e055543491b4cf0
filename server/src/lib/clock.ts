/** The time, passed in wherever it matters, so that tests can move it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: Date.now }

/** The clock's time in ISO 8601, `offset` milliseconds later; earlier where that is negative. */
export const isoAt = (clock: Clock, offset = 0): string =>
  new Date(clock.now() + offset).toISOString()

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
