/** The tokens of a session: first ones and, by a refresh token, further ones; one that was stolen ends it. */
import { LRUCache } from 'lru-cache'
import { type Clock, isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append, rowOf } from '../../../platform/journal/index.ts'
import { type RateLimiter, tooMany } from '../../../platform/throttle/index.ts'
import { findConsoleToken, useConsoleToken } from '../console/console.store.ts'
import { idleMinutesOf } from '../console/idle.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import { type OpaqueToken, parseToken } from '../tokens/opaque-tokens.ts'
import { newSalt, successorOf } from '../tokens/refresh-tokens.ts'
import {
  type ForConsole,
  type IssuedSession,
  type IssuedTokens,
  issuedTokens,
} from './issued-tokens.ts'
import type { SessionStates } from './session-states.ts'
import { sessionEntry } from './sessions.journal.ts'
import type { TokenResponse } from './sessions.schema.ts'
import * as store from './sessions.store.ts'

/** A spent refresh token gets the same successor for this long: two tabs, a lost answer. */
const GRACE_MS = 10 * SECOND
/**
 * A refresh token of the console is not rotated for this long, and its predecessor gets the same answer. An interrupted
 * browser still sends the old cookie, and tabs that open at once all send the same one.
 */
export const CONSOLE_ROTATION_MS = MINUTE
/** Of so many sessions at once it is known that they were rotated too often. */
const MAX_EARLY = 10_000

export interface RenewalDeps {
  db: Scopes
  clock: Clock
  states: SessionStates
  access: AccessTokens
  /** How often a session is rotated on this node: each time is an entry of the journal, for good. */
  rotations: RateLimiter
}

export interface Renewal extends IssuedTokens {
  /**
   * @throws Problem 401; a token spent long ago also ends its session; 429 where the session was rotated
   *   too often; 503 while the clinic is restored
   */
  refresh(text: string, origin: Origin): Promise<TokenResponse>
  /**
   * As `refresh`, for a session of the console: rotates the token only once it is a minute old, and
   * refuses a session that was idle for longer than its tenant allows.
   */
  refreshConsole(text: string, origin: Origin): Promise<ForConsole>
}

export function renewing({ db, clock, states, access, rotations }: RenewalDeps): Renewal {
  const issued = issuedTokens(access)
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

  /** Returns a session that goes on, with its user as they are now. */
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

  /** Answers a spent token: within the grace with the same successor. A later one was stolen. */
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

  /** Reads a refresh token that may be used now. */
  async function requireUsable(text: string): Promise<OpaqueToken> {
    const shown = parseToken(text)
    if (!shown) throw new Problem('invalid_refresh_token')
    refuseEarly(shown)
    await db.requireOpen(shown.tenantId)
    return shown
  }

  /** @param idleSeconds how long a session of the console may be idle; null for others */
  async function rotate(
    shown: OpaqueToken,
    origin: Origin,
    idleSeconds: number | null,
  ): Promise<IssuedSession> {
    const isConsole = idleSeconds !== null
    const salt = newSalt()
    const successor = successorOf(shown, salt)
    const by = { user_id: null, user_email: null, origin }
    const entry = rowOf(by, sessionEntry('auth.token_refreshed', shown.tenantId, null))
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
    // Rotated or ended by a request at the same time.
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
