/** How much others use the database, for long work that gives way to them. */
import type { Scopes } from './scope.ts'

/** What the last look counts for in the average: one who comes now and then is not many. */
const NEWEST = 0.2

export interface Others {
  /** What follows is looked at next. */
  begin(): void
  /**
   * Returns how many transactions others of this process had under way at once, on the average of the looks.
   * @param ownMs what of the time in between the caller's own transactions took, in milliseconds
   */
  look(ownMs?: number): number
  /** Milliseconds since what is looked at has begun. */
  elapsedMs(): number
}

export function watchOthers(db: Pick<Scopes, 'spentMs' | 'clock'>): Others {
  const now = () => ({ at: db.clock.monotonic(), spentMs: db.spentMs() })
  let since = now()
  let average = 0
  const elapsedMs = () => db.clock.monotonic() - since.at
  return {
    begin() {
      since = now()
    },
    look(ownMs = 0) {
      average += NEWEST * ((db.spentMs() - since.spentMs - ownMs) / elapsedMs() - average)
      return average
    },
    elapsedMs,
  }
}
