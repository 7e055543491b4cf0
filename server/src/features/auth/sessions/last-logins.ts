/**
 * Caches when users last signed in, for their own profile. The time is not part of the session state, because then
 * every sign-in would have to notify all nodes. A cached time expires after almost a second. The node that handles a
 * sign-in drops its cached time immediately.
 */
import { LRUCache } from 'lru-cache'
import { flights } from '../../../lib/shared-loads.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { findLastLogin } from './sessions.store.ts'

const MAX_CACHED = 20_000
/** The time for which a node without database contact trusts cached session states (decision 0004). */
const BELIEVED_MS = 900

export interface LastLogins {
  /** Returns the time of the last sign-in. Returns a promise only if the time is not cached. */
  of(tenantId: number, userId: number): string | null | Promise<string | null>
  forget(userId: number): void
}

export function lastLogins(db: Scopes): LastLogins {
  const cached = new LRUCache<number, { at: string | null }>({ max: MAX_CACHED, ttl: BELIEVED_MS })
  const loads = flights<number, string | null>()

  return {
    of(tenantId, userId) {
      const known = cached.get(userId)
      if (known) return known.at
      return loads.join(
        userId,
        () => db.inTenant(tenantId, (tx) => findLastLogin(tx, userId), 'read'),
        (at) => cached.set(userId, { at }),
      )
    },
    forget(userId) {
      cached.delete(userId)
      loads.voidIf((loading) => loading === userId)
    },
  }
}
