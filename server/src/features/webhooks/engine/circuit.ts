/**
 * A webhook's circuit breaker, which limits concurrency and pauses sending, depending on the share of failed attempts.
 * Occasional failures reduce concurrency a little. After persistent failures only single messages are sent as probes,
 * and after five days the service deactivates the webhook.
 */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { Attempt } from '../sending/attempt.ts'
import { jittered, type Random, retryAfterOf } from './schedule.ts'

export interface Circuit {
  /** The number of failures in a row. Failures during a pause are not counted. */
  failures: number
  /** The share of failures among the attempts up to the last success, weighted towards recent attempts. */
  share: number
  /** When the current run of failures began, ISO 8601. Null after a success. */
  failing_since: string | null
  /** The time of the last failure, in milliseconds since the Unix epoch. 0 after a success. */
  failedAt: number
  /** The maximum number of concurrent messages. May be a fraction, because small increases add up to a slot. */
  slots: number
  /** The end of the current pause, in milliseconds since the Unix epoch. 0 without a pause. */
  pausedUntil: number
}

export type DisableReason = 'failing' | 'gone'

const MAX_SLOTS = 16
/** Up to this share of failures, the concurrency of a receiver is not reduced. */
const HARMLESS_SHARE = 0.25
/** The weight of an attempt in the share of failures, which then covers about the last thirty attempts. */
const WEIGHT = 1 / 32
/** The number of failures in a row after which a receiver that was healthy gets only single probes. */
const BREAKS_AFTER = 5
/** The probability below which a series of failures opens the breaker, given the receiver's usual share of failures. */
const CHANCE = 1 / 1_000_000
/** Above this share of failures, a receiver is treated as one that always fails. */
const HOPELESS_SHARE = 0.8
const MAX_IN_A_ROW = 20
const FIRST_PAUSE = 5 * SECOND
const FIRST_BREATH = SECOND
const MAX_PAUSE = 5 * MINUTE
/** The longest pause that a `Retry-After` header can cause for the receiver's other messages. */
const MAX_ASKED = HOUR
const GIVES_UP_AFTER = 5 * DAY
/** How long after the last failure the earlier failures stop counting. This is longer than any wait between retries. */
const FORGOTTEN_AFTER = 2 * DAY

const TOO_MANY = 429
const GONE = 410

/** Returns how many messages may be sent concurrently. From the third failure in a row on, each failure halves this. */
export function slotsNow({ slots, failures }: Circuit): number {
  return Math.max(1, Math.floor(slots / 2 ** Math.max(0, failures - 2)))
}

export function afterSuccess(circuit: Circuit, now: number): Circuit {
  // Ignores failures after the breaker has opened, because single probes do not show the usual share of failures.
  const counted = Math.min(circuit.failures, breaksAfter(circuit.share))
  const share = withFailures(circuit.share, counted) * (1 - WEIGHT)
  return {
    failures: 0,
    share,
    failing_since: null,
    failedAt: 0,
    slots: Math.min(slotsFor(share), circuit.slots + 1 / Math.floor(circuit.slots)),
    // Keeps a pause that the receiver has requested, even if a message that was already in flight succeeds.
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
  // Messages that fail during a pause were sent before it. They do not count as further failures.
  if (circuit.pausedUntil > now)
    return { circuit: { ...circuit, failing_since, failedAt: now }, ...verdict }
  const failures = circuit.failures + 1
  const breaks = breaksAfter(circuit.share)
  const asked = Math.min(retryAfterOf(attempt.retry_after, now) ?? 0, MAX_ASKED)
  // A 429 and a `Retry-After` header concern the receiver as a whole, not only this message.
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

/** Returns the share of failures after `count` more failures. */
const withFailures = (share: number, count: number) => 1 - (1 - share) * (1 - WEIGHT) ** count

/** Returns the maximum number of concurrent messages for a receiver with this share of failures. */
const slotsFor = (share: number) =>
  Math.max(1, MAX_SLOTS * Math.min(1, (1 - share) / (1 - HARMLESS_SHARE)))

/** Returns the number of failures in a row after which a receiver with this share of failures counts as down. */
function breaksAfter(share: number): number {
  if (share <= 0 || share > HOPELESS_SHARE) return BREAKS_AFTER
  const unlikely = Math.ceil(Math.log(CHANCE) / Math.log(share))
  return Math.min(MAX_IN_A_ROW, Math.max(BREAKS_AFTER, unlikely))
}

const doubling = (first: number, times: number) =>
  Math.min(MAX_PAUSE, first * 2 ** Math.min(times, 20))
