/** Checks for unread entries, also past long transactions of other databases on the same server. */
import type { Scopes } from '../db/index.ts'
import { type Backlog, type Position, peek, type Reader } from './consumer.ts'
import { findHorizon } from './horizon.ts'

/** How long entries must be blocked until it is checked whether a transaction of another database blocks them. */
const BLOCKED_MS = 1_000

export interface Found {
  backlog: Backlog
  /** The horizon with which to read the entries, see `findHorizon`. */
  horizon: string | undefined
}

/**
 * Returns a function that checks for entries after a position, by default after the stored position of the reader. If
 * entries have been blocked for long, the function also looks past transactions of other databases.
 */
export function backlogFinder(db: Scopes, reader: Reader): (after?: Position) => Promise<Found> {
  let blockedSince: number | undefined
  let horizon: string | undefined
  return async (after) => {
    const backlog = await peek(db, reader, horizon, after)
    if (backlog !== 'blocked') {
      blockedSince = undefined
      return { backlog, horizon }
    }
    blockedSince ??= db.clock.monotonic()
    if (horizon === undefined && db.clock.monotonic() - blockedSince < BLOCKED_MS)
      return { backlog, horizon }
    const { xid, isFurther } = await findHorizon(db)
    // Keeps the horizon, because the same transaction would first block new entries again as long as it runs.
    horizon = isFurther ? xid : undefined
    return { backlog: isFurther ? await peek(db, reader, horizon, after) : backlog, horizon }
  }
}
