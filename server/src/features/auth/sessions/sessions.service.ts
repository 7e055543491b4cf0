/** Starts sessions at sign-in, refreshes their tokens, and ends sessions immediately on all nodes. */
import { randomUUID } from 'node:crypto'
import { DAY, HOUR, isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller, Identity, Origin, Restriction } from '../../../platform/access/index.ts'
import { newToken } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { append, rowOf } from '../../../platform/journal/index.ts'
import { idleMinutesOf } from '../console/idle.ts'
import type { AccessClaims } from '../tokens/access-tokens.ts'
import { admit } from './admission.store.ts'
import { sessionEnded, sessionEntry } from './ending.ts'
import type { IssuedSession } from './issued-tokens.ts'
import type { LastLogins } from './last-logins.ts'
import { type Renewal, type RenewalDeps, renewing } from './renewal.ts'
import { restrictionOf } from './restriction.ts'
import type { OwnProfile, Session } from './sessions.schema.ts'
import * as store from './sessions.store.ts'
import { type SignOut, signingOut } from './sign-out.ts'

/** The idle limit and the maximum lifetime of an API session. Superadmins must sign in daily. */
const LIFE = { idle: 14 * DAY, longest: 90 * DAY }
const OPERATORS_LIFE = { idle: 8 * HOUR, longest: 24 * HOUR }
/** The maximum lifetime of a console session, one working day. Its idle limit is a tenant setting. */
const LONGEST_CONSOLE = 12 * HOUR
/** The maximum number of live sessions of a user. A further sign-in ends the oldest session. */
const MAX_SESSIONS = 50

export interface SessionsDeps extends RenewalDeps {
  logins: LastLogins
}

type Entering = IssuedSession['user'] & {
  email: string
  is_demo: boolean
  is_console: boolean
  idle_setting: unknown
}

type SessionOwner = Pick<AccessClaims, 'tenantId' | 'userId' | 'jti'>
type IdentifySession = (session: SessionOwner) => Promise<Identity> | Identity

export interface Sessions extends Renewal, SignOut {
  /** Starts a session for the account, within the transaction that verified the user. */
  start(
    tx: TenantTx,
    account: Entering & { restriction: Restriction | null },
    origin: Origin,
  ): Promise<IssuedSession>
  /**
   * Records the sign-in and starts a session for a user without a second factor, in one round trip. Returns undefined
   * and changes nothing if the user has changed, or if the user has so many sessions that the oldest one may have to
   * end.
   */
  admit(
    account: Entering & { password_hash: string; demanded: unknown },
    origin: Origin,
  ): Promise<IssuedSession | undefined>
  /** Returns the identity for an access token. @throws Problem 401 for an invalid token or an ended session */
  authenticate(token: string): Promise<Identity> | Identity
  /** Returns the identity of a live session of the user. @throws Problem 401 for an ended session */
  identify: IdentifySession
  /** Returns the caller's own profile. @throws Problem 401 if the session has ended during the request */
  profile(caller: Caller): Promise<OwnProfile> | OwnProfile
  isStartedWithin(caller: Caller, ms: number): Promise<boolean>
  list(caller: Caller): Promise<Session[]>
  /** Ends all sessions of a user or tenant, for example after a block, a change of role or a deletion. */
  end(tx: TenantTx, which: Omit<store.Which, 'sessionId'>, reason: string): Promise<void>
}

export function sessionsService(deps: SessionsDeps): Sessions {
  const { db, clock, states, logins, access } = deps

  function profileOf(state: store.SessionState | undefined): Promise<OwnProfile> | OwnProfile {
    if (!state) throw new Problem('invalid_token')
    const { profile } = state
    const last = logins.of(profile.tenant_id, profile.id)
    return last instanceof Promise
      ? last.then((last_login_at) => ({ ...profile, last_login_at }))
      : { ...profile, last_login_at: last }
  }

  function identify(known: SessionOwner): Promise<Identity> | Identity {
    const state = states.get(known.tenantId, known.jti)
    // Awaits the promise exactly once, so that a failed read fails only this request.
    return state instanceof Promise
      ? state.then((found) => identityOf(known, found, clock.now()))
      : identityOf(known, state, clock.now())
  }

  /** Returns the data of a new session: its row, its first refresh token and its journal entry. Stores nothing. */
  function begin(account: Entering, origin: Origin) {
    const id = randomUUID()
    const refresh = newToken(account.tenant_id)
    const { idle, longest } = lifeOf(account)
    const session: store.NewSession = {
      id,
      tenant_id: account.tenant_id,
      user_id: account.id,
      signed_in_from: networkOf(origin.ip),
      ip: origin.ip,
      user_agent: origin.user_agent,
      now: isoAt(clock),
      is_console: account.is_console,
      idle_seconds: idle / SECOND,
      expires_at: isoAt(clock, idle),
      absolute_expires_at: isoAt(clock, longest),
      token_hash: refresh.hash,
    }
    return { refresh, session, entry: sessionEntry('auth.login', account.tenant_id, id) }
  }

  return {
    ...renewing(deps),
    ...signingOut(db, clock),

    async start(tx, account, origin) {
      const { refresh, session, entry } = begin(account, origin)
      const which = { tenantId: account.tenant_id, userId: account.id, except: session.id }
      const ending = store.endOldest(tx, which, MAX_SESSIONS - 1, isoAt(clock))
      store.insertSession(tx, session)
      tx.afterCommit(() => logins.forget(account.id))
      const actor = { user_id: account.id, user_email: account.email, origin }
      await append(tx, actor, entry)
      for (const ended of await ending) {
        tx.invalidate(`session:${ended}`)
        await append(tx, actor, sessionEntry('auth.session_ended', account.tenant_id, ended))
      }
      return {
        ...issuedOf(account),
        sessionId: session.id,
        refresh,
        restriction: account.restriction,
      }
    },

    async admit(account, origin) {
      const { refresh, session, entry } = begin(account, origin)
      const actor = { user_id: account.id, user_email: account.email, origin }
      const sent = await db.inTenant(account.tenant_id, async (tx) => {
        tx.afterCommit(() => logins.forget(account.id))
        return admit(tx, session, account, rowOf(tx.entryKey, actor, entry))
      })
      const [admitted] = await sent.rows
      if (!admitted) return undefined
      const user = { ...account, ...admitted, totp_enabled: false }
      const restriction = restrictionOf(user, account.demanded)
      return { ...issuedOf(account), sessionId: session.id, refresh, user, restriction }
    },

    identify,

    authenticate(token) {
      const claims = access.verify(token)
      return claims instanceof Promise ? claims.then(identify) : identify(claims)
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
        (tx) =>
          store.listSessions(
            tx,
            { tenantId: caller.tenant_id, userId: caller.user_id },
            isoAt(clock),
          ),
        'read',
      )
      return rows.map((row) => sessionFor(caller, row))
    },

    async end(tx, which, reason) {
      await store.endSessions(tx, which, isoAt(clock), reason)
      tx.invalidate(
        which.userId === undefined ? `tenant:${which.tenantId}` : `user:${which.userId}`,
      )
    },
  }
}

/** Returns the response data of a session. Marks the session that the caller's own request used. */
export const sessionFor = (
  caller: Caller,
  { id, created_at, ...shown }: store.ListedSession,
): Session => ({
  ...shown,
  jti: id,
  created_at: Math.floor(Date.parse(created_at) / SECOND),
  current: id === caller.session_id,
})

/** Returns the account data for the token response of its session. */
const issuedOf = (account: Entering) => ({
  user: account,
  isDemo: account.is_demo,
  isConsole: account.is_console,
  idleMinutes: idleMinutesOf(account.idle_setting),
})

function lifeOf({ is_console, idle_setting, role }: Entering): typeof LIFE {
  if (is_console) return { idle: idleMinutesOf(idle_setting) * MINUTE, longest: LONGEST_CONSOLE }
  return role === 'superadmin' ? OPERATORS_LIFE : LIFE
}

function identityOf(
  claims: SessionOwner,
  state: store.SessionState | undefined,
  now: number,
): Identity {
  if (state?.profile.id !== claims.userId || state.ends_at <= now) throw sessionEnded()
  const { id, tenant_id, email, role, department_id, can_see_all_patients } = state.profile
  const { restriction } = state
  return {
    user_id: id,
    tenant_id,
    email,
    role,
    unit_id: department_id,
    sees_all: can_see_all_patients,
    session_id: claims.jti,
    restriction,
  }
}
