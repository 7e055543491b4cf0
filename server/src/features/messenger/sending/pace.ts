/** Determines the time between the messages to one chat. */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'

/** The minimum time between two messages to a chat. The provider allows one message a second per chat. */
export const CHAT_GAP = SECOND
/** The minimum times between two digests. While events keep coming, the next longer time applies after each digest. */
const DIGEST_GAPS = [1, 2, 5, 10, 30].map((seconds) => seconds * SECOND)
/** The time without events after which the gap returns to the first step. */
const QUIET = MINUTE
const FIRST_RETRY = 5 * SECOND
/** The maximum wait before a retry: half the lifetime of an answer, so that each answer is retried in time. */
const MAX_RETRY = 5 * MINUTE

/** The age from which a digest contains only the number of events. Events older than `DROPPED_AFTER` are dropped. */
export const LATE_AFTER = DAY
export const DROPPED_AFTER = 7 * DAY

/** How long a chat that refuses messages is paused. It is unlinked after three refusals that span a day. */
export const REFUSED_PAUSE = HOUR
export const MAX_REFUSALS = 3
export const REFUSED_FOR = DAY

/** The current pace of a chat's digests. */
export interface DigestPace {
  gap: number
  /** The end of the gap, in milliseconds since the Unix epoch. Null before the first digest. */
  digestAt: number | null
}

/**
 * Returns the index of the gap after a digest that is sent now. While events keep coming, this is the next longer gap.
 * After a minute without events, it is the first gap.
 * @param queuedAt when the first event of the digest was queued, in milliseconds since the Unix epoch
 */
export function nextGap({ gap, digestAt }: DigestPace, queuedAt: number): number {
  if (digestAt === null || queuedAt - (digestAt - gapOf(gap)) >= QUIET) return 0
  return Math.min(gap + 1, DIGEST_GAPS.length - 1)
}

export const gapOf = (step: number): number => DIGEST_GAPS[step] ?? CHAT_GAP

/** Returns the wait in milliseconds after this many failures in a row: 5 s, doubled each time, up to five minutes. */
export function retryAfter(failures: number): number {
  return Math.min(FIRST_RETRY * 2 ** (failures - 1), MAX_RETRY)
}
