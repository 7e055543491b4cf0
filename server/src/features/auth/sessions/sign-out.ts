/** Ending sessions: by their user, or for a reason outside. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller, Origin } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Action, type Actor, actorOf, append } from '../../../platform/journal/index.ts'
import { parseToken } from '../tokens/opaque-tokens.ts'
import { sessionEntry } from './sessions.journal.ts'
import type { LogoutRequest } from './sessions.schema.ts'
import * as store from './sessions.store.ts'

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

export interface SignOut {
  /** Ends one of the caller's sessions. @throws Problem 404 */
  revoke(caller: Caller, sessionId: string): Promise<void>
  logout(caller: Caller, request: LogoutRequest): Promise<void>
  /** Ends the session of the console that a refresh token belongs to, if it is still live. */
  signOutConsole(refreshToken: string, origin: Origin): Promise<void>
}

export function signingOut(db: Scopes, clock: Clock): SignOut {
  /** Ends the caller's own sessions and journals them; returns whether there were any. */
  async function endOwn(
    tx: TenantTx,
    which: { tenantId: number; userId: number; sessionId?: string },
    actor: Actor,
    action: Action,
  ): Promise<boolean> {
    const ended = await store.endSessions(tx, which, isoAt(clock), action.slice('auth.'.length))
    // All of them by one word: a notification holds no more than 8000 bytes.
    if (which.sessionId) tx.invalidate(`session:${which.sessionId}`)
    else tx.invalidate(`user:${which.userId}`)
    if (ended.length > 0)
      await append(tx, actor, {
        ...sessionEntry(action, which.tenantId, which.sessionId ?? null),
        changes: { sessions: ended.length },
      })
    return ended.length > 0
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
        UUID.test(sessionId) &&
        (await db.inTenant(caller.tenant_id, (tx) =>
          endOwn(tx, which, actorOf(caller), 'auth.session_revoked'),
        ))
      if (!ended) throw new Problem('not_found', { detail: 'You have no such session' })
    },

    logout: (caller, { refresh_token, all_devices }) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const own = { tenantId: caller.tenant_id, userId: caller.user_id }
        const actor = actorOf(caller)
        if (all_devices) return void (await endOwn(tx, own, actor, 'auth.logout'))
        // A client that keeps tokens of two sign-ins may hand in the other one's refresh token.
        const other = refresh_token ? await sessionOf(tx, caller, refresh_token) : undefined
        const ending = new Set([caller.session_id, other ?? caller.session_id])
        // Always in the order of the ids: of two that sign out of the same sessions one waits.
        for (const sessionId of [...ending].sort())
          await endOwn(tx, { ...own, sessionId }, actor, 'auth.logout')
      }),

    async signOutConsole(refreshToken, origin) {
      const shown = parseToken(refreshToken)
      if (!shown) return
      await db.requireOpen(shown.tenantId)
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
