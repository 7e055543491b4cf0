/** Issues the tokens of a session. Reuse of a refresh token ends the session, because the token may be stolen. */
import { LRUCache } from 'lru-cache'
import { type Clock, isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import { type OpaqueToken, parseToken } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append, rowOf } from '../../../platform/journal/index.ts'
import { type RateLimiter, tooMany } from '../../../platform/throttle/index.ts'
import { findConsoleToken, useConsoleToken } from '../console/console.store.ts'
import { idleMinutesOf } from '../console/idle.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import { newSalt, successorOf } from '../tokens/refresh-tokens.ts'
import { sessionEntry } from './ending.ts'
import {
  type ForConsole,
  type IssuedSession,
  type IssuedTokens,
  issuedTokens,
} from './issued-tokens.ts'
import type { SessionStates } from './session-states.ts'
import type { TokenResponse } from './sessions.schema.ts'
import * as store from './sessions.store.ts'

/** How long a rotated token returns the same new token: for a second tab, or after a missed response. */
const GRACE_MS = 10 * SECOND
/**
 * The minimum time between two rotations of a console refresh token. During this time the previous token returns the
 * same response. This serves browsers that missed a response and still send the old cookie, and several tabs that send
 * the same cookie at once.
 */
export const CONSOLE_ROTATION_MS = MINUTE
/** The maximum number of remembered refresh tokens that may not be used yet. */
const MAX_EARLY = 10_000

export interface RenewalDeps {
  db: Scopes
  clock: Clock
  states: SessionStates
  access: AccessTokens
  /** Limits the rotations of one session on this node. Each rotation adds a permanent journal entry. */
  rotations: RateLimiter
}

export interface Renewal extends IssuedTokens {
  /**
   * Returns new tokens for a refresh token. Reuse of a token after the grace period ends the session.
   * @throws Problem 401 for an invalid or reused token, 429 if the session was rotated too often, 503 during a restore
   *   of the clinic
   */
  refresh(text: string, origin: Origin): Promise<TokenResponse>
  /** Refreshes like `refresh`, but rotates at most once a minute. Rejects a session above its tenant's idle limit. */
  refreshConsole(text: string, origin: Origin): Promise<ForConsole>
}

export function renewing({ db, clock, states, access, rotations }: RenewalDeps): Renewal {
  const issued = issuedTokens(access)
  /** Refresh tokens that may not be used yet, by hash, with the time from which they may be used. */
  const early = new LRUCache<string, number>({ max: MAX_EARLY })
  const keyOf = ({ hash }: OpaqueToken) => hash.toString('base64')

  /**
   * Counts a rotation of the session. The service knows the session of a token only after the rotation. A client above
   * the limit must therefore wait before it uses the new token. The new token stays valid.
   */
  async function countRotation(sessionId: string, successor: OpaqueToken): Promise<void> {
    const waitMs = await rotations(sessionId)
    if (waitMs > 0) early.set(keyOf(successor), clock.now() + waitMs)
  }

  function refuseEarly(shown: OpaqueToken): void {
    const waitMs = (early.get(keyOf(shown)) ?? 0) - clock.now()
    if (waitMs > 0) throw tooMany(waitMs)
  }

  /** Returns the session and its refresh token with current user data. @throws Problem 401 for an ended session */
  async function continued(
    sessionId: string,
    refresh: OpaqueToken,
    isConsole: boolean,
  ): Promise<IssuedSession> {
    const state = await states.get(refresh.tenantId, sessionId)
    if (!state) throw new Problem('invalid_refresh_token')
    return {
      sessionId,
      refresh,
      isConsole,
      user: state.profile,
      isDemo: state.is_demo,
      idleMinutes: state.profile.idle_minutes,
      restriction: state.restriction,
    }
  }

  /**
   * Handles a refresh token that was already rotated. Within the grace period, returns the same new token. Afterwards,
   * treats the token as stolen and ends the session.
   * @throws Problem 401 after the grace period
   */
  async function replayed(
    shown: OpaqueToken,
    origin: Origin,
    isConsole: boolean,
  ): Promise<IssuedSession> {
    const graceMs = isConsole ? CONSOLE_ROTATION_MS : GRACE_MS
    const repeated = await db.inTenant(shown.tenantId, async (tx) => {
      const known = await store.findRefreshToken(tx, shown.hash)
      if (!known?.spent_at || !known.successor_salt || known.ended_at) return undefined
      if (known.is_console !== isConsole) return undefined
      if (clock.now() - Date.parse(known.spent_at) <= graceMs)
        return { sessionId: known.session_id, refresh: successorOf(shown, known.successor_salt) }
      await endStolen(tx, { tenantId: shown.tenantId, ...known }, origin)
      return undefined
    })
    if (!repeated) throw new Problem('invalid_refresh_token')
    return continued(repeated.sessionId, repeated.refresh, isConsole)
  }

  /** Ends the session of a stolen token, because the service cannot distinguish the thief from the owner. */
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

  /** Parses a refresh token and checks that it may be used now. @throws Problem 401, 429 or 503 */
  async function requireUsable(text: string): Promise<OpaqueToken> {
    const shown = parseToken(text)
    if (!shown) throw new Problem('invalid_refresh_token')
    refuseEarly(shown)
    await db.requireAvailable(shown.tenantId)
    return shown
  }

  /** Replaces a refresh token. @param idleSeconds the idle limit of a console session; null for other sessions */
  async function rotate(
    shown: OpaqueToken,
    origin: Origin,
    idleSeconds: number | null,
  ): Promise<IssuedSession> {
    const isConsole = idleSeconds !== null
    const salt = newSalt()
    const successor = successorOf(shown, salt)
    const by = { user_id: null, user_email: null, origin }
    const entry = rowOf(db.entryKey, by, sessionEntry('auth.token_refreshed', shown.tenantId, null))
    const next = {
      hash: shown.hash,
      salt,
      successorHash: successor.hash,
      now: isoAt(clock),
      is_console: isConsole,
      idle_seconds: idleSeconds,
    }
    const rotated = await store.rotateRefreshToken(db, shown.tenantId, next, entry)
    if (!rotated) return replayed(shown, origin, isConsole)
    await countRotation(rotated.session_id, successor)
    return continued(rotated.session_id, successor, isConsole)
  }

  async function continueConsole(shown: OpaqueToken, origin: Origin): Promise<IssuedSession> {
    const known = await db.inTenant(
      shown.tenantId,
      (tx) => findConsoleToken(tx, shown.hash),
      'read',
    )
    if (!known) throw new Problem('invalid_refresh_token')
    const idleSeconds = (idleMinutesOf(known.idle_setting) * MINUTE) / SECOND
    const now = clock.now()
    if (Date.parse(known.last_used_at) + idleSeconds * SECOND <= now)
      throw new Problem('invalid_refresh_token')
    const isFresh = !known.spent_at && now - Date.parse(known.issued_at) < CONSOLE_ROTATION_MS
    if (!isFresh) return rotate(shown, origin, idleSeconds)
    const use = { hash: shown.hash, now: isoAt(clock), idle_seconds: idleSeconds, ...origin }
    const isUsed = await db.inTenant(shown.tenantId, (tx) => useConsoleToken(tx, use))
    // `isUsed` is false if a concurrent request rotated the token or ended the session.
    return isUsed ? continued(known.session_id, shown, true) : rotate(shown, origin, idleSeconds)
  }

  return {
    ...issued,
    refresh: async (text, origin) =>
      issued.tokens(await rotate(await requireUsable(text), origin, null)),
    refreshConsole: async (text, origin) =>
      issued.consoleTokens(await continueConsole(await requireUsable(text), origin)),
  }
}
