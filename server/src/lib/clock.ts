/** The time source. Passed to all code that depends on the time, so that tests can move the clock. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: Date.now }

/** Returns the clock's time in ISO 8601, shifted by `offset` milliseconds. A negative offset gives an earlier time. */
export const isoAt = (clock: Clock, offset = 0): string =>
  new Date(clock.now() + offset).toISOString()

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
