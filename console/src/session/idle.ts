/**
 * Computes the phases of the idle limit. All times are wall-clock milliseconds, so that the time in which a computer
 * sleeps counts too.
 */

/** How long before the limit the warning is shown. */
export const WARNING_MS = 60_000

const MAX_HEARTBEAT_MS = 60_000

/** The phase of a session: before the warning, within it, or past the limit. */
export type IdlePhase =
  | { phase: 'active'; checkInMs: number }
  | { phase: 'warning'; secondsLeft: number }
  | { phase: 'over' }

/** Returns the phase at `now`. If the clock was set back, assumes that no time has passed. */
export function idlePhase(now: number, lastActivity: number, limitMs: number): IdlePhase {
  const left = limitMs - Math.max(0, now - lastActivity)
  if (left <= 0) return { phase: 'over' }
  if (left <= WARNING_MS) return { phase: 'warning', secondsLeft: Math.ceil(left / 1000) }
  return { phase: 'active', checkInMs: left - WARNING_MS }
}

/** Returns how often an active tab reports activity to the service, which enforces the same limit. */
export const heartbeatMs = (limitMs: number): number => Math.min(MAX_HEARTBEAT_MS, limitMs / 4)

/**
 * Returns the later of two times of activity, but at most the current time. A clock that was ahead may have stored a
 * future time.
 */
export const latestActivity = (own: number, stored: number, now: number): number =>
  Math.max(own, Math.min(stored, now))
