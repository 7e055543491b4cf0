/**
 * How a webhook's receiver does, and how much it is sent therefore: fewer at once when it asks for
 * patience, one probe at a time while it keeps failing, and nothing any more after five days of it.
 */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { Attempt } from '../sending/attempt.ts'
import { jittered, type Random, retryAfterOf } from './schedule.ts'

export interface Health {
  /** Failures in a row, those of one burst counted up to its pause. */
  failures: number
  /** Since when every try has failed, ISO 8601; null when the last one went well. */
  failing_since: string | null
  /** When the last try failed, in milliseconds since the Unix epoch; 0 when it went well. */
  failedAt: number
  /** Messages that may be under way at once. A fraction grows until it is one more. */
  slots: number
  /** No try before this, in milliseconds since the Unix epoch; 0 for none. */
  pausedUntil: number
}

/** Why the service deactivates a webhook. */
export type Disabled = 'failing' | 'gone'

const MOST_SLOTS = 16
/** So many failures in a row open the breaker: from then on single probes. */
const BREAKS_AFTER = 5
const FIRST_PAUSE = 5 * SECOND
const FIRST_BREATH = SECOND
const LONGEST_PAUSE = 5 * MINUTE
/** A receiver's `Retry-After` holds its other messages back as well, but not for longer than this. */
const LONGEST_ASKED = HOUR
const GIVES_UP_AFTER = 5 * DAY
/** No wait is as long: who has not been tried for this long has not been failing all the time. */
const FORGOTTEN_AFTER = 2 * DAY

/** Too many requests, or a gateway in front of a receiver that does not keep up. */
const OVERLOADED: readonly (number | null)[] = [429, 502, 503, 504]
const GONE = 410

export function afterSuccess(health: Health, now: number): Health {
  return {
    failures: 0,
    failing_since: null,
    failedAt: 0,
    slots: Math.min(MOST_SLOTS, health.slots + 1 / Math.floor(health.slots)),
    // A pause that was asked for meanwhile holds, whatever was already under way.
    pausedUntil: health.pausedUntil > now ? health.pausedUntil : 0,
  }
}

export function afterFailure(
  before: Health,
  attempt: Pick<Attempt, 'status_code' | 'retry_after'>,
  now: number,
  random: Random,
): { health: Health; disable?: Disabled } {
  const isForgotten = before.failedAt > 0 && now - before.failedAt > FORGOTTEN_AFTER
  const health = isForgotten ? { ...before, failures: 0, failing_since: null } : before
  const failing_since = health.failing_since ?? new Date(now).toISOString()
  const isGone = attempt.status_code === GONE
  const isTooLong = now - Date.parse(failing_since) >= GIVES_UP_AFTER
  const disable: Disabled | undefined = isGone ? 'gone' : isTooLong ? 'failing' : undefined
  const verdict = disable === undefined ? {} : { disable }
  // What was under way when the pause began says nothing new.
  if (health.pausedUntil > now)
    return { health: { ...health, failing_since, failedAt: now }, ...verdict }
  const failures = health.failures + 1
  const isOverloaded = OVERLOADED.includes(attempt.status_code)
  const isBroken = failures >= BREAKS_AFTER
  const asked = Math.min(retryAfterOf(attempt.retry_after, now) ?? 0, LONGEST_ASKED)
  const pause = Math.max(
    isBroken ? doubling(FIRST_PAUSE, failures - BREAKS_AFTER) : 0,
    isOverloaded ? doubling(FIRST_BREATH, failures - 1) : 0,
  )
  const pausedUntil = now + Math.max(jittered(pause, random), asked)
  const slots = isBroken ? 1 : isOverloaded ? Math.max(1, health.slots / 2) : health.slots
  return {
    health: {
      failures,
      failing_since,
      failedAt: now,
      slots,
      pausedUntil: pausedUntil > now ? pausedUntil : 0,
    },
    ...verdict,
  }
}

const doubling = (first: number, times: number) =>
  Math.min(LONGEST_PAUSE, first * 2 ** Math.min(times, 20))
