/** Ends sessions at the request of their own user. */
import type { Clock } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller, Origin } from '../../../platform/access/index.ts'
import { parseToken } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Action, type Actor, actorOf, append } from '../../../platform/journal/index.ts'
import { endUserSessions, isSessionId, sessionEntry, type UserSessionsKey } from './ending.ts'
import type { LogoutRequest } from './sessions.schema.ts'
import * as store from './sessions.store.ts'

export interface SignOut {
  /** Ends one of the caller's own sessions. @throws Problem 404 if the caller has no such session */
  revoke(caller: Caller, sessionId: string): Promise<void>
  logout(caller: Caller, request: LogoutRequest): Promise<void>
  /** Ends the console session that a refresh token belongs to. Does nothing if the session has already ended. */
  signOutConsole(refreshToken: string, origin: Origin): Promise<void>
}

export function signingOut(db: Scopes, clock: Clock): SignOut {
  /** Ends the caller's own sessions and writes a journal entry. Returns whether any session was live. */
  async function endOwn(
    tx: TenantTx,
    which: UserSessionsKey,
    actor: Actor,
    action: Action,
  ): Promise<boolean> {
    const ended = await endUserSessions(tx, clock, which, action.slice('auth.'.length))
    if (ended > 0)
      await append(tx, actor, {
        ...sessionEntry(action, which.tenantId, which.sessionId ?? null),
        changes: { sessions: ended },
      })
    return ended > 0
  }

  async function sessionOf(
    tx: TenantTx,
    caller: Caller,
    refreshToken: string,
  ): Promise<string | undefined> {
    const shown = parseToken(refreshToken)
    if (shown?.tenantId !== caller.tenant_id) return undefined
    const known = await store.findRefreshToken(tx, shown.hash)
    return known?.user_id === caller.user_id ? known.session_id : undefined
  }

  return {
    async revoke(caller, sessionId) {
      const which = { tenantId: caller.tenant_id, userId: caller.user_id, sessionId }
      const ended =
        isSessionId(sessionId) &&
        (await db.inTenant(caller.tenant_id, (tx) =>
          endOwn(tx, which, actorOf(caller), 'auth.session_revoked'),
        ))
      if (!ended) throw new Problem('not_found', { detail: 'You do not have this session' })
    },

    logout: (caller, { refresh_token, all_devices }) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const own = { tenantId: caller.tenant_id, userId: caller.user_id }
        const actor = actorOf(caller)
        if (all_devices) return void (await endOwn(tx, own, actor, 'auth.logout'))
        // A client that signed in twice may send the refresh token of its other session. That session ends as well.
        const other = refresh_token ? await sessionOf(tx, caller, refresh_token) : undefined
        const ending = new Set([caller.session_id, other ?? caller.session_id])
        // Ends the sessions in the order of their ids, so that two concurrent sign-outs cannot deadlock.
        for (const sessionId of [...ending].sort())
          await endOwn(tx, { ...own, sessionId }, actor, 'auth.logout')
      }),

    async signOutConsole(refreshToken, origin) {
      const shown = parseToken(refreshToken)
      if (!shown) return
      await db.requireAvailable(shown.tenantId)
      await db.inTenant(shown.tenantId, async (tx) => {
        const known = await store.findRefreshToken(tx, shown.hash)
        if (!known?.is_console) return
        const { user_id: userId, session_id: sessionId, email } = known
        const actor = { user_id: userId, user_email: email, origin }
        await endOwn(tx, { tenantId: shown.tenantId, userId, sessionId }, actor, 'auth.logout')
      })
    },
  }
}
