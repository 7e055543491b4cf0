/** How far apart the messages to one chat are. */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'

/** Between two messages of any kind; the provider allows one a second in one chat. */
export const CHAT_GAP = SECOND
/** Between two digests while more keeps coming, step by step. */
const DIGEST_GAPS = [1, 2, 5, 10, 30].map((seconds) => seconds * SECOND)
/** After so long without a message the gap is the first one again. */
const QUIET = MINUTE
const FIRST_RETRY = 5 * SECOND
const MAX_RETRY = 15 * MINUTE

/** Events older than this are only counted, and at the second age dropped. */
export const LATE_AFTER = DAY
export const DROPPED_AFTER = 7 * DAY

/** A chat that is refused for reasons that may pass rests, and is given up after three times over a day. */
export const REFUSED_PAUSE = HOUR
export const MAX_REFUSALS = 3
export const REFUSED_FOR = DAY

/** How a chat's digests have gone so far; times in milliseconds since the epoch. */
export interface DigestPace {
  gap: number
  sentAt: number | null
  /** Before this no digest was to be sent. */
  digestAt: number | null
}

/**
 * Returns the step of the gap behind a digest that is sent now: a longer one where it has waited for
 * the gap before, the first one after a quiet minute.
 * @param queuedAt when the first of its events was queued
 */
export function nextGap(
  { gap, sentAt, digestAt }: DigestPace,
  queuedAt: number,
  now: number,
): number {
  if (sentAt === null || now - sentAt >= QUIET) return 0
  const hasWaited = digestAt !== null && queuedAt < digestAt
  return hasWaited ? Math.min(gap + 1, DIGEST_GAPS.length - 1) : gap
}

/** Returns the milliseconds that a step stands for. */
export const gapOf = (step: number): number => DIGEST_GAPS[step] ?? CHAT_GAP

/** Returns the wait after so many failures in a row: 5 s, doubled each time, a quarter of an hour at the most. */
export function retryAfter(failures: number): number {
  return Math.min(FIRST_RETRY * 2 ** (failures - 1), MAX_RETRY)
}
