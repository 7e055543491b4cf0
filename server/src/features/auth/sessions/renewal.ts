/** The tokens of a session: first ones and, by a refresh token, further ones; one that was stolen ends it. */
import { LRUCache } from 'lru-cache'
import { type Clock, isoAt, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Role } from '../../../lib/roles.ts'
import type { Origin, Restriction } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append, rowOf } from '../../../platform/journal/index.ts'
import { type RateLimiter, tooMany } from '../../../platform/throttle/index.ts'
import { ACCESS_TOKEN_MS, type AccessTokens } from '../tokens/access-tokens.ts'
import { type OpaqueToken, parseToken } from '../tokens/opaque-tokens.ts'
import { newSalt, successorOf } from '../tokens/refresh-tokens.ts'
import type { SessionStates } from './session-states.ts'
import { sessionEntry } from './sessions.journal.ts'
import type { TokenResponse } from './sessions.schema.ts'
import * as store from './sessions.store.ts'

/** A spent refresh token gets the same successor for this long: two tabs, a lost answer. */
const GRACE_MS = 10 * SECOND
/** Of so many sessions at once it is known that they were rotated too often. */
const MAX_EARLY = 10_000

/** A session whose tokens are to be returned. */
export interface IssuedSession {
  sessionId: string
  refresh: OpaqueToken
  user: { id: number; tenant_id: number; role: Role; full_name: string }
  isDemo: boolean
  restriction: Restriction | null
}

export interface RenewalDeps {
  db: Scopes
  clock: Clock
  states: SessionStates
  access: AccessTokens
  /** How often a session is rotated on this node: each time is an entry of the journal, for good. */
  rotations: RateLimiter
}

export interface Renewal {
  tokens(issued: IssuedSession): Promise<TokenResponse>
  /**
   * @throws Problem 401; a token spent long ago also ends its session; 429 where the session was rotated
   *   too often; 503 while the clinic is restored
   */
  refresh(text: string, origin: Origin): Promise<TokenResponse>
}

export function renewing({ db, clock, states, access, rotations }: RenewalDeps): Renewal {
  /** The hashes of tokens that are good only later, each with when. */
  const early = new LRUCache<string, number>({ max: MAX_EARLY })
  const keyOf = ({ hash }: OpaqueToken) => hash.toString('base64')

  /**
   * Whose session a token is of is known behind the rotation alone: of one too many it is the successor
   * that has to wait, and is not spent meanwhile.
   */
  async function countRotation(sessionId: string, successor: OpaqueToken): Promise<void> {
    const waitMs = await rotations(sessionId)
    if (waitMs > 0) early.set(keyOf(successor), clock.now() + waitMs)
  }

  function refuseEarly(shown: OpaqueToken): void {
    const waitMs = (early.get(keyOf(shown)) ?? 0) - clock.now()
    if (waitMs > 0) throw tooMany(waitMs)
  }

  async function tokens({
    sessionId,
    refresh,
    user,
    isDemo,
    restriction,
  }: IssuedSession): Promise<TokenResponse> {
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
  async function continueSession(sessionId: string, refresh: OpaqueToken): Promise<TokenResponse> {
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
    return continueSession(repeated.sessionId, repeated.refresh)
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

  return {
    tokens,

    async refresh(text, origin) {
      const shown = parseToken(text)
      if (!shown) throw new Problem('invalid_refresh_token')
      refuseEarly(shown)
      await db.requireOpen(shown.tenantId)
      const salt = newSalt()
      const successor = successorOf(shown, salt)
      const by = { user_id: null, user_email: null, origin }
      const entry = rowOf(by, sessionEntry('auth.token_refreshed', shown.tenantId, null))
      const next = { hash: shown.hash, salt, successorHash: successor.hash, now: isoAt(clock) }
      const rotated = await store.rotateRefreshToken(db, shown.tenantId, next, entry)
      if (!rotated) return replayed(shown, origin)
      await countRotation(rotated.session_id, successor)
      return continueSession(rotated.session_id, successor)
    },
  }
}
