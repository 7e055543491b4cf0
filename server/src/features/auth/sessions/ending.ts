/** Ends a user's sessions within a transaction, and makes all nodes drop the cached sessions. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { endSessions } from './sessions.store.ts'

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** Returns whether the text has the format of a session id. */
export const isSessionId = (text: string): boolean => UUID.test(text)

/** Identifies all sessions of a user, or a single one if `sessionId` is present. */
export interface UserSessionsKey {
  tenantId: number
  userId: number
  sessionId?: string
}

/**
 * Ends the sessions and makes every node drop them from its cache. Returns how many of the sessions had not expired.
 */
export async function endUserSessions(
  tx: TenantTx,
  clock: Clock,
  which: UserSessionsKey,
  reason: string,
): Promise<number> {
  const ended = await endSessions(tx, which, isoAt(clock), reason)
  // Sends one topic for all sessions of the user, because a notification can have at most 8000 bytes.
  tx.invalidate(which.sessionId ? `session:${which.sessionId}` : `user:${which.userId}`)
  return ended
}
