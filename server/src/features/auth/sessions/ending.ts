/** The end of sessions: ends a user's sessions within a transaction, and rejects callers whose session has ended. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { RequireSignedIn } from '../../../platform/access/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Action, journalEntry } from '../../../platform/journal/index.ts'
import { endSessions, isSignedIn } from './sessions.store.ts'

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

export const isSessionId = (text: string): boolean => UUID.test(text)

/** Identifies all sessions of a user, or a single one if `sessionId` is present. */
export interface UserSessionsKey {
  tenantId: number
  userId: number
  sessionId?: string
}

/** Ends the sessions and drops them from every node's cache. Returns how many of them had not expired. */
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

/** Returns the journal entry of an action on a session. The id is null if the action concerns several sessions. */
export const sessionEntry = (action: Action, tenantId: number, sessionId: string | null) =>
  journalEntry(action, 'session', { id: sessionId, tenant_id: tenantId })

/** Checks within a transaction that the caller's session is still live. @throws Problem 401 if the session has ended */
export const requireSignedIn: RequireSignedIn = async (tx, caller) => {
  if (!(await isSignedIn(tx, caller))) throw sessionEnded()
}

export const sessionEnded = (): Problem =>
  new Problem('invalid_token', { detail: 'The session has ended. Sign in again.' })
