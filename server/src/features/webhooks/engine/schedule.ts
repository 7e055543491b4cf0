/** When a delivery that failed is tried again (decisions §5). */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'

/** The waits after the first, second, … try. Behind the last one a delivery is given up. */
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

/** A receiver may ask for more patience, but not for more than this. */
const MAX_RETRY_AFTER = DAY
/** Waits are spread by this part of themselves: what failed together does not come back together. */
const JITTER = 0.1

/** Between 0 and 1, as `Math.random`. */
export type Random = () => number

export function jittered(ms: number, random: Random): number {
  return Math.round(ms * (1 - JITTER + 2 * JITTER * random()))
}

/**
 * When to try again, in milliseconds since the Unix epoch; undefined when it is given up.
 * @param tries made so far, at least one
 * @param retryAfter what the receiver asked for, in milliseconds
 */
export function nextTry(
  now: number,
  tries: number,
  retryAfter: number | undefined,
  random: Random,
): number | undefined {
  const wait = RETRY_WAITS[tries - 1]
  if (wait === undefined) return undefined
  // What was asked for is a least wait: spread upwards alone.
  const asked = Math.min(retryAfter ?? 0, MAX_RETRY_AFTER)
  return now + Math.max(jittered(wait, random), Math.round(asked * (1 + JITTER * random())))
}

/**
 * Milliseconds to wait by a `Retry-After` header: seconds or a date (RFC 9110, 10.2.3). Undefined
 * when there is none or it makes no sense.
 */
export function retryAfterOf(header: string | null, now: number): number | undefined {
  const text = header?.trim()
  if (!text) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  // Only what begins as a date: Date.parse would make one of "-5" or "2 hours" as well.
  const at = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
