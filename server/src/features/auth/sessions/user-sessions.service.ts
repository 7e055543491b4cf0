/** Lets administrators list and end the sessions of a user. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { actorOf, append, journalEntry } from '../../../platform/journal/index.ts'
import type { OnUser, ReadUser } from '../../users/index.ts'
import { endUserSessions, isSessionId } from './ending.ts'
import type { Session } from './sessions.schema.ts'
import { sessionFor } from './sessions.service.ts'
import { listSessions } from './sessions.store.ts'

export interface UserSessionsDeps {
  clock: Clock
  readUser: ReadUser
  onUser: OnUser
}

/** All functions throw Problem 404 for a user the caller cannot see, and 403 if an admin acts on a superadmin. */
export interface UserSessions {
  list(caller: Admin, userId: number): Promise<Session[]>
  /** Ends one session of a user. @throws Problem 404 if the user has no such session */
  end(caller: Admin, userId: number, sessionId: string): Promise<void>
  /** Ends all sessions of a user. Returns the number of sessions that had not expired. */
  endAll(caller: Admin, userId: number): Promise<number>
}

export function userSessionsService({ clock, readUser, onUser }: UserSessionsDeps): UserSessions {
  /** Ends sessions of the user and writes a journal entry. Returns the number of sessions that had not expired. */
  async function end(
    tx: TenantTx,
    caller: Admin,
    user: { id: number; tenant_id: number },
    session?: { sessionId: string },
  ): Promise<number> {
    const which = { tenantId: user.tenant_id, userId: user.id, ...session }
    const sessions = await endUserSessions(tx, clock, which, 'ended_by_admin')
    if (sessions > 0)
      await append(tx, actorOf(caller), {
        ...journalEntry('user.sessions_ended', 'user', user),
        changes: { sessions, ...(session ? { session_id: session.sessionId } : {}) },
      })
    return sessions
  }

  return {
    list: (caller, userId) =>
      readUser(caller, userId, async (tx, user) => {
        const key = { tenantId: user.tenant_id, userId: user.id }
        const rows = await listSessions(tx, key, isoAt(clock))
        return rows.map((row) => sessionFor(caller, row))
      }),

    end: (caller, userId, sessionId) =>
      onUser(caller, userId, async (tx, user) => {
        const ended = isSessionId(sessionId) && (await end(tx, caller, user, { sessionId }))
        if (!ended)
          throw new Problem('not_found', { detail: 'The user does not have this session' })
      }),

    endAll: (caller, userId) => onUser(caller, userId, (tx, user) => end(tx, caller, user)),
  }
}
