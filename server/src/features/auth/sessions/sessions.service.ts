/** Sessions: one a sign-in, gone on with by refresh, ended at once on every node. */
import { randomUUID } from 'node:crypto'
import { type Clock, DAY, HOUR, isoAt, SECOND } from '../../../lib/clock.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Role } from '../../../lib/roles.ts'
import type { Caller, Identity, Origin, Restriction } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  type Action,
  actorOf,
  append,
  entered,
  journalEntry,
} from '../../../platform/journal/index.ts'
import type { Profile } from '../../users/index.ts'
import { ACCESS_TOKEN_MS, type AccessClaims, type AccessTokens } from '../tokens/access-tokens.ts'
import { newToken, type OpaqueToken, parseToken } from '../tokens/opaque-tokens.ts'
import { newSalt, successorOf } from '../tokens/refresh-tokens.ts'
import type { LastLogins } from './last-logins.ts'
import type { SessionStates } from './session-states.ts'
import type { LogoutRequest, Session, TokenResponse } from './sessions.schema.ts'
import * as store from './sessions.store.ts'

/** How long a session lives: while it is not used, and in all. Who operates the platform signs in daily. */
const LIFE = { idle: 14 * DAY, longest: 90 * DAY }
const OPERATORS_LIFE = { idle: 8 * HOUR, longest: 24 * HOUR }
/** With one more the oldest ends. */
const MOST_SESSIONS = 50
/** A spent refresh token gets the same successor for this long: two tabs, a lost answer. */
const GRACE_MS = 10 * SECOND

/** A session to answer tokens for. */
export interface Started {
  sessionId: string
  refresh: OpaqueToken
  user: { id: number; tenant_id: number; role: Role; full_name: string }
  isDemo: boolean
  restriction: Restriction | null
}

export interface SessionsDeps {
  db: Scopes
  clock: Clock
  states: SessionStates
  logins: LastLogins
  access: AccessTokens
}

export interface Sessions {
  /** Starts a session of the account within the transaction that admits it. */
  start(
    tx: TenantTx,
    account: Started['user'] & { email: string; is_demo: boolean; restriction: Restriction | null },
    origin: Origin,
  ): Promise<Started>
  tokens(started: Started): Promise<TokenResponse>
  /** @throws Problem 401; a token spent long ago also ends its session */
  refresh(text: string, origin: Origin): Promise<TokenResponse>
  /** The identity behind an access token. @throws Problem 401 */
  authenticate(token: string): Promise<Identity> | Identity
  /** What the caller sees of themselves. @throws Problem 401 when the session has just ended */
  profile(caller: Caller): Promise<Profile> | Profile
  /** Whether the caller signed in within the last `ms`. */
  isStartedWithin(caller: Caller, ms: number): Promise<boolean>
  list(caller: Caller): Promise<Session[]>
  /** Ends one of the caller's sessions. @throws Problem 404 */
  revoke(caller: Caller, sessionId: string): Promise<void>
  logout(caller: Caller, request: LogoutRequest): Promise<void>
  /** Ends sessions for a reason outside: a block, a new role, a second factor, a tenant gone. */
  end(tx: TenantTx, which: Omit<store.Which, 'sessionId'>, reason: string): Promise<void>
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

export function sessionsService(deps: SessionsDeps): Sessions {
  const { db, clock, states, logins, access } = deps

  async function tokens({
    sessionId,
    refresh,
    user,
    isDemo,
    restriction,
  }: Started): Promise<TokenResponse> {
    const { id: userId, tenant_id: tenantId, role, full_name } = user
    return {
      access_token: access.sign({ userId, tenantId, role, jti: sessionId }),
      refresh_token: refresh.text,
      token_type: 'bearer',
      expires_in: ACCESS_TOKEN_MS / SECOND,
      tenant_id: tenantId,
      role,
      user_id: userId,
      full_name,
      demo_mode: isDemo,
      enrolment_required: restriction === 'enrolment',
      password_change_required: restriction === 'password',
    }
  }

  /** The tokens of a session that goes on, for its user as they are now. */
  async function goOn(sessionId: string, refresh: OpaqueToken): Promise<TokenResponse> {
    const state = await states.get(refresh.tenantId, sessionId)
    if (!state) throw new Problem('invalid_refresh_token')
    return tokens({
      sessionId,
      refresh,
      user: state.profile,
      isDemo: state.is_demo,
      restriction: state.restriction,
    })
  }

  /** A spent token that is shown again: within the grace the same successor, later a theft. */
  async function replayed(shown: OpaqueToken, origin: Origin): Promise<TokenResponse> {
    const repeated = await db.inTenant(shown.tenantId, async (tx) => {
      const known = await store.findRefreshToken(tx, shown.hash)
      if (!known?.spent_at || !known.successor_salt || known.ended_at) return undefined
      if (clock.now() - Date.parse(known.spent_at) <= GRACE_MS)
        return { sessionId: known.session_id, refresh: successorOf(shown, known.successor_salt) }
      await endStolen(tx, { tenantId: shown.tenantId, ...known }, origin)
      return undefined
    })
    if (!repeated) throw new Problem('invalid_refresh_token')
    return goOn(repeated.sessionId, repeated.refresh)
  }

  /** Either the thief or the owner has the successor by now: both are out. */
  async function endStolen(
    tx: TenantTx,
    stolen: { tenantId: number; session_id: string; user_id: number },
    origin: Origin,
  ): Promise<void> {
    const { tenantId, session_id: sessionId, user_id } = stolen
    await store.endSessions(
      tx,
      { tenantId, userId: user_id, sessionId },
      isoAt(clock),
      'refresh_reused',
    )
    tx.invalidate(`session:${sessionId}`)
    const actor = { user_id, user_email: null, origin }
    await append(tx, actor, sessionEntry('auth.refresh_reused', tenantId, sessionId))
  }

  function profileOf(state: store.SessionState | undefined): Promise<Profile> | Profile {
    if (!state) throw new Problem('invalid_token')
    const { profile } = state
    const last = logins.of(profile.tenant_id, profile.id)
    return last instanceof Promise
      ? last.then((last_login_at) => ({ ...profile, last_login_at }))
      : { ...profile, last_login_at: last }
  }

  return {
    tokens,

    async start(tx, account, origin) {
      const sessionId = randomUUID()
      const refresh = newToken(account.tenant_id)
      const { idle, longest } = account.role === 'superadmin' ? OPERATORS_LIFE : LIFE
      const which = { tenantId: account.tenant_id, userId: account.id, except: sessionId }
      const ending = store.endOldest(tx, which, MOST_SESSIONS - 1, isoAt(clock))
      store.insertSession(tx, {
        id: sessionId,
        tenant_id: account.tenant_id,
        user_id: account.id,
        signed_in_from: networkOf(origin.ip),
        ip: origin.ip,
        user_agent: origin.user_agent,
        now: isoAt(clock),
        idle_seconds: idle / SECOND,
        expires_at: isoAt(clock, idle),
        absolute_expires_at: isoAt(clock, longest),
        token_hash: refresh.hash,
      })
      tx.afterCommit(() => logins.forget(account.id))
      await append(
        tx,
        { user_id: account.id, user_email: account.email, origin },
        sessionEntry('auth.login', account.tenant_id, sessionId),
      )
      for (const ended of await ending) {
        tx.invalidate(`session:${ended}`)
        const actor = { user_id: account.id, user_email: account.email, origin }
        await append(tx, actor, sessionEntry('auth.session_ended', account.tenant_id, ended))
      }
      return {
        sessionId,
        refresh,
        user: account,
        isDemo: account.is_demo,
        restriction: account.restriction,
      }
    },

    async refresh(text, origin) {
      const shown = parseToken(text)
      if (!shown) throw new Problem('invalid_refresh_token')
      const salt = newSalt()
      const successor = successorOf(shown, salt)
      const sent = await db.inTenant(shown.tenantId, async (tx) => {
        const by = { user_id: null, user_email: null, origin }
        const entry = entered(tx, by, sessionEntry('auth.token_refreshed', shown.tenantId, null))
        const next = { hash: shown.hash, salt, successorHash: successor.hash, now: isoAt(clock) }
        return store.rotateRefreshToken(tx, next, entry)
      })
      const [rotated] = await sent.rows
      return rotated ? goOn(rotated.session_id, successor) : replayed(shown, origin)
    },

    authenticate(token) {
      const claims = access.verify(token)
      const check = (known: AccessClaims) => {
        const state = states.get(known.tenantId, known.jti)
        // A promise is asked for once and always waited for: when it fails, its request does.
        return state instanceof Promise
          ? state.then((found) => identityOf(known, found, clock.now()))
          : identityOf(known, state, clock.now())
      }
      return claims instanceof Promise ? claims.then(check) : check(claims)
    },

    profile(caller) {
      const state = states.get(caller.tenant_id, caller.session_id)
      return state instanceof Promise ? state.then(profileOf) : profileOf(state)
    },

    isStartedWithin: (caller, ms) =>
      db.inTenant(
        caller.tenant_id,
        (tx) => store.isStartedAfter(tx, caller.session_id, isoAt(clock, -ms)),
        'read',
      ),

    async list(caller) {
      const rows = await db.inTenant(
        caller.tenant_id,
        (tx) => store.listSessions(tx, caller.user_id, isoAt(clock)),
        'read',
      )
      return rows.map(({ id, created_at, ...shown }) => ({
        ...shown,
        jti: id,
        created_at: Math.floor(Date.parse(created_at) / SECOND),
        current: id === caller.session_id,
      }))
    },

    async revoke(caller, sessionId) {
      const which = { tenantId: caller.tenant_id, userId: caller.user_id, sessionId }
      const ended =
        UUID.test(sessionId) &&
        (await db.inTenant(caller.tenant_id, (tx) =>
          endOwn(tx, which, caller, 'auth.session_revoked'),
        ))
      if (!ended) throw new Problem('not_found', { detail: 'You have no such session' })
    },

    logout: (caller, { refresh_token, all_devices }) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const own = { tenantId: caller.tenant_id, userId: caller.user_id }
        if (all_devices) return void (await endOwn(tx, own, caller, 'auth.logout'))
        // A client that keeps tokens of two sign-ins may hand in the other one's refresh token.
        const other = refresh_token ? await sessionOf(tx, caller, refresh_token) : undefined
        const ending = new Set([caller.session_id, other ?? caller.session_id])
        // Always in the order of the ids: of two that sign out of the same sessions one waits.
        for (const sessionId of [...ending].sort())
          await endOwn(tx, { ...own, sessionId }, caller, 'auth.logout')
      }),

    async end(tx, which, reason) {
      await store.endSessions(tx, which, isoAt(clock), reason)
      tx.invalidate(
        which.userId === undefined ? `tenant:${which.tenantId}` : `user:${which.userId}`,
      )
    },
  }

  /** Ends the caller's own sessions and journals each; answers whether there were any. */
  async function endOwn(
    tx: TenantTx,
    which: { tenantId: number; userId: number; sessionId?: string },
    caller: Caller,
    action: Action,
  ): Promise<boolean> {
    const ended = await store.endSessions(tx, which, isoAt(clock), action.slice('auth.'.length))
    // All of them by one word: a notification holds no more than 8000 bytes.
    if (which.sessionId) tx.invalidate(`session:${which.sessionId}`)
    else tx.invalidate(`user:${which.userId}`)
    if (ended.length > 0)
      await append(tx, actorOf(caller), {
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
}

function identityOf(
  claims: AccessClaims,
  state: store.SessionState | undefined,
  now: number,
): Identity {
  if (state?.profile.id !== claims.userId || state.ends_at <= now)
    throw new Problem('invalid_token', { detail: 'The session has ended; sign in again' })
  const { id, tenant_id, email, role } = state.profile
  const { restriction } = state
  return { user_id: id, tenant_id, email, role, session_id: claims.jti, restriction }
}

function sessionEntry(action: Action, tenantId: number, sessionId: string | null) {
  return journalEntry(action, 'session', { id: sessionId, tenant_id: tenantId })
}
