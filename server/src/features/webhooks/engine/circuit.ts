/**
 * A webhook's circuit breaker: how its receiver does, and how much it is sent. The share of failures decides,
 * not the last one: who fails now and then is sent a little less at once, who fails for good is left in
 * peace but for single probes, and nothing is sent any more after five days of that.
 */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { Attempt } from '../sending/attempt.ts'
import { jittered, type Random, retryAfterOf } from './schedule.ts'

export interface Circuit {
  /** Failures in a row, those of one burst counted up to its pause. */
  failures: number
  /** The share of failures among its tries up to the last success, the recent ones counting more. */
  share: number
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
export type DisableReason = 'failing' | 'gone'

const MAX_SLOTS = 16
/** Up to this share of failures a receiver is sent as much at once as one without. */
const HARMLESS_SHARE = 0.25
/** What each try counts in the share: about the last thirty decide. */
const WEIGHT = 1 / 32
/** So many failures in a row open the breaker for a receiver that has done well: then single probes. */
const BREAKS_AFTER = 5
/** Who fails now and then has to fail as often in a row as chance brings it once in so many times. */
const CHANCE = 1 / 1_000_000
/** Who fails more often than this is no better than one that always does. */
const HOPELESS_SHARE = 0.8
const MAX_IN_A_ROW = 20
const FIRST_PAUSE = 5 * SECOND
const FIRST_BREATH = SECOND
const MAX_PAUSE = 5 * MINUTE
/** A receiver's `Retry-After` holds its other messages back as well, but not for longer than this. */
const MAX_ASKED = HOUR
const GIVES_UP_AFTER = 5 * DAY
/** No wait is as long: who has not been tried for this long has not been failing all the time. */
const FORGOTTEN_AFTER = 2 * DAY

const TOO_MANY = 429
const GONE = 410

/** How many messages may be under way now: fewer from the third failure in a row on. */
export function slotsNow({ slots, failures }: Circuit): number {
  return Math.max(1, Math.floor(slots / 2 ** Math.max(0, failures - 2)))
}

export function afterSuccess(circuit: Circuit, now: number): Circuit {
  // What failed while the breaker was open says nothing about how it does between such times.
  const counted = Math.min(circuit.failures, breaksAfter(circuit.share))
  const share = withFailures(circuit.share, counted) * (1 - WEIGHT)
  return {
    failures: 0,
    share,
    failing_since: null,
    failedAt: 0,
    slots: Math.min(slotsFor(share), circuit.slots + 1 / Math.floor(circuit.slots)),
    // A pause that was asked for meanwhile holds, whatever was already under way.
    pausedUntil: circuit.pausedUntil > now ? circuit.pausedUntil : 0,
  }
}

export function afterFailure(
  before: Circuit,
  attempt: Pick<Attempt, 'status_code' | 'retry_after'>,
  now: number,
  random: Random,
): { circuit: Circuit; disable?: DisableReason } {
  const isForgotten = before.failedAt > 0 && now - before.failedAt > FORGOTTEN_AFTER
  const circuit = isForgotten ? { ...before, failures: 0, failing_since: null } : before
  const failing_since = circuit.failing_since ?? new Date(now).toISOString()
  const isGone = attempt.status_code === GONE
  const isTooLong = now - Date.parse(failing_since) >= GIVES_UP_AFTER
  const disable: DisableReason | undefined = isGone ? 'gone' : isTooLong ? 'failing' : undefined
  const verdict = disable === undefined ? {} : { disable }
  // What was under way when the pause began says nothing new.
  if (circuit.pausedUntil > now)
    return { circuit: { ...circuit, failing_since, failedAt: now }, ...verdict }
  const failures = circuit.failures + 1
  const breaks = breaksAfter(circuit.share)
  const asked = Math.min(retryAfterOf(attempt.retry_after, now) ?? 0, MAX_ASKED)
  // Both speak for the receiver as a whole, and not for the one message.
  const isAsking = attempt.status_code === TOO_MANY || asked > 0
  const pause = Math.max(
    failures >= breaks ? doubling(FIRST_PAUSE, failures - breaks) : 0,
    attempt.status_code === TOO_MANY ? doubling(FIRST_BREATH, failures - 1) : 0,
  )
  const pausedUntil = now + Math.max(jittered(pause, random), asked)
  const slots = failures >= breaks ? 1 : isAsking ? Math.max(1, circuit.slots / 2) : circuit.slots
  return {
    circuit: {
      failures,
      share: circuit.share,
      failing_since,
      failedAt: now,
      slots: Math.min(slots, slotsFor(withFailures(circuit.share, Math.min(failures, breaks)))),
      pausedUntil: pausedUntil > now ? pausedUntil : 0,
    },
    ...verdict,
  }
}

/** The share once so many more tries have failed. */
const withFailures = (share: number, count: number) => 1 - (1 - share) * (1 - WEIGHT) ** count

/** The most that a receiver is sent at once that fails so often. */
const slotsFor = (share: number) =>
  Math.max(1, MAX_SLOTS * Math.min(1, (1 - share) / (1 - HARMLESS_SHARE)))

/** How many failures in a row mean that a receiver is down which otherwise fails so often. */
function breaksAfter(share: number): number {
  if (share <= 0 || share > HOPELESS_SHARE) return BREAKS_AFTER
  const unlikely = Math.ceil(Math.log(CHANCE) / Math.log(share))
  return Math.min(MAX_IN_A_ROW, Math.max(BREAKS_AFTER, unlikely))
}

const doubling = (first: number, times: number) =>
  Math.min(MAX_PAUSE, first * 2 ** Math.min(times, 20))
