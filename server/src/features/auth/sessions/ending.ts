/** Ends sessions of a user within a transaction, for every node. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { endSessions } from './sessions.store.ts'

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** Returns whether the text can be the id of a session. */
export const isSessionId = (text: string): boolean => UUID.test(text)

/** The sessions of a user, or one of them. */
export interface UserSessionsKey {
  tenantId: number
  userId: number
  sessionId?: string
}

/** Ends the sessions and has every node forget them. Returns how many had not expired. */
export async function endUserSessions(
  tx: TenantTx,
  clock: Clock,
  which: UserSessionsKey,
  reason: string,
): Promise<number> {
  const ended = await endSessions(tx, which, isoAt(clock), reason)
  // One topic stands for all sessions of the user, because a notification holds at most 8000 bytes.
  tx.invalidate(which.sessionId ? `session:${which.sessionId}` : `user:${which.userId}`)
  return ended
}
