/** How far apart the messages to one chat are. */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'

/** Between two messages of any kind; the provider allows one a second in one chat. */
export const CHAT_GAP = SECOND
/** Between two digests while more keeps coming, step by step. */
const DIGEST_GAPS = [1, 2, 5, 10, 30].map((seconds) => seconds * SECOND)
/** After so long a time behind a digest without an event the gap is the first one again. */
const QUIET = MINUTE
const FIRST_RETRY = 5 * SECOND
/** Half the life of an answer to a command, so that each is tried while it is of use. */
const MAX_RETRY = 5 * MINUTE

/** Events older than this are only counted, and at the second age dropped. */
export const LATE_AFTER = DAY
export const DROPPED_AFTER = 7 * DAY

/** A chat that is refused for reasons that may pass rests, and is given up after three times over a day. */
export const REFUSED_PAUSE = HOUR
export const MAX_REFUSALS = 3
export const REFUSED_FOR = DAY

/** How a chat's digests have gone so far. */
export interface DigestPace {
  /** The step of the gap behind the last one. */
  gap: number
  /** The end of that gap, in milliseconds since the epoch; null before the first digest. */
  digestAt: number | null
}

/**
 * Returns the step of the gap behind a digest that is sent now: the next longer one while more keeps
 * coming, the first one after a quiet minute.
 * @param queuedAt when the first of its events was queued
 */
export function nextGap({ gap, digestAt }: DigestPace, queuedAt: number): number {
  if (digestAt === null || queuedAt - (digestAt - gapOf(gap)) >= QUIET) return 0
  return Math.min(gap + 1, DIGEST_GAPS.length - 1)
}

/** Returns the milliseconds that a step stands for. */
export const gapOf = (step: number): number => DIGEST_GAPS[step] ?? CHAT_GAP

/** Returns the wait after so many failures in a row: 5 s, doubled each time, five minutes at the most. */
export function retryAfter(failures: number): number {
  return Math.min(FIRST_RETRY * 2 ** (failures - 1), MAX_RETRY)
}
