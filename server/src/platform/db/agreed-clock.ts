/**
 * The clock for irreversible deletions, which affect all nodes. Uses the database's time, and stops while the node's
 * clock and the database's clock disagree.
 */
import { type Clock, MINUTE, SECOND } from '../../lib/clock.ts'

/** The maximum difference between the clocks. A larger difference is a fault, because NTP stays within milliseconds. */
const MAX_SKEW_MS = MINUTE

export interface AgreedClock {
  /** Returns a clock that stands still at the database's time. @throws ClockSkewError above a minute of difference */
  read(): Promise<Clock>
  /** False if the clocks disagreed at the last comparison. */
  agrees(): boolean
  /** Returns by how many milliseconds this node's clock was ahead at the last comparison. Negative if it was behind. */
  skewMs(): number
}

/** Thrown if the clocks of this node and of the database disagree. */
export class ClockSkewError extends Error {
  override name = 'ClockSkewError'

  constructor(skewMs: number) {
    const seconds = Math.round(Math.abs(skewMs) / SECOND)
    super(
      `The clock of this node is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database's. Scheduled deletion is paused until the clocks agree. Synchronize both with NTP.`,
    )
  }
}

/** Creates the clock. @param databaseNow returns the database's time in milliseconds since the epoch */
export function agreedClock(clock: Clock, databaseNow: () => Promise<number>): AgreedClock {
  let skewMs = 0
  const agrees = () => Math.abs(skewMs) <= MAX_SKEW_MS
  return {
    agrees,
    skewMs: () => skewMs,
    async read() {
      const before = clock.now()
      const now = await databaseNow()
      const after = clock.now()
      // The database read its clock between `before` and `after`. Only the distance from this range counts as skew.
      skewMs = before > now ? before - now : Math.min(after - now, 0)
      if (!agrees()) throw new ClockSkewError(skewMs)
      return { now: () => now }
    },
  }
}
