/**
 * When users last signed in, as they see it of themselves. Every sign-in changes it, so it is no part of
 * the state of sessions, of which each change is told to all nodes with its commit: it is read again
 * once it is almost a second old, and at once on the node that the user signs in at.
 */
import { LRUCache } from 'lru-cache'
import { flights } from '../../../lib/flights.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { findLastLogin } from './sessions.store.ts'

const MAX_HELD = 20_000
/** As long as a session's state is believed without a sign of life of the database (decision 0004). */
const BELIEVED_MS = 900

export interface LastLogins {
  /** Returns at once when it is held. */
  of(tenantId: number, userId: number): string | null | Promise<string | null>
  forget(userId: number): void
}

export function lastLogins(db: Scopes): LastLogins {
  const held = new LRUCache<number, { at: string | null }>({ max: MAX_HELD, ttl: BELIEVED_MS })
  const loads = flights<number, string | null>()

  return {
    of(tenantId, userId) {
      const known = held.get(userId)
      if (known) return known.at
      return loads.join(
        userId,
        () => db.inTenant(tenantId, (tx) => findLastLogin(tx, userId), 'read'),
        (at) => held.set(userId, { at }),
      )
    },
    forget(userId) {
      held.delete(userId)
      loads.voidIf((loading) => loading === userId)
    },
  }
}
