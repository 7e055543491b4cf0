/** Determines when a failed delivery is retried (decisions §5). */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'

/** The waits after attempts one to nine, in milliseconds. After the tenth attempt, a delivery has finally failed. */
export const RETRY_WAITS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const

/** The longest wait that a receiver can request with `Retry-After`. */
const MAX_RETRY_AFTER = DAY
/** The fraction by which waits vary. Deliveries that failed at the same time are then retried at different times. */
const JITTER = 0.1

/** Returns a number between 0 and 1, like `Math.random`. */
export type Random = () => number

export function jittered(ms: number, random: Random): number {
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random()))
}

/**
 * Returns when to retry, in milliseconds since the Unix epoch. Returns undefined if the delivery has finally failed.
 * @param tries the number of attempts made so far, at least one
 * @param retryAfter the wait that the receiver requested, in milliseconds
 */
export function nextTry(
  now: number,
  tries: number,
  retryAfter: number | undefined,
  random: Random,
): number | undefined {
  const wait = RETRY_WAITS[tries - 1]
  if (wait === undefined) return undefined
  // The requested wait is a minimum, so the jitter only extends it.
  const asked = Math.min(retryAfter ?? 0, MAX_RETRY_AFTER)
  return now + Math.max(jittered(wait, random), Math.round(asked * (1 + JITTER * random())))
}

/** Returns the wait of a `Retry-After` header in ms (RFC 9110, 10.2.3), or undefined if it is missing or invalid. */
export function retryAfterOf(header: string | null, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  // Accepts only text that starts like a date, because Date.parse also accepts "-5" and "2 hours".
  const at = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
