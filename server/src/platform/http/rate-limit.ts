/** Limits calls per address, user or tenant, with `RateLimit` headers (draft-ietf-httpapi-ratelimit-headers). */
import type { FastifyReply } from 'fastify'
import { Problem } from '../../lib/problems.ts'
import { createQuota, WINDOW_SECONDS } from '../throttle/rate-limiter.ts'

export interface RateLimit {
  /** Counts a call of `key`. Returns undefined if there is no limit. @throws Problem 429 beyond the limit */
  take(key: string, reply: FastifyReply): Promise<void> | undefined
}

export interface Limits {
  /** Limit per address for all requests. */
  requests: RateLimit
  /** Limit per address and operation, for operations that would let unauthenticated callers guess secrets. */
  guesses: RateLimit
  /** Limit per address and operation for provider notifications, which come from few addresses for all tenants. */
  notifications: RateLimit
  /** Limit per user for changes, because the journal stores each change permanently. */
  userWrites: RateLimit
  /** Limit for the changes of all users of one tenant together. */
  tenantWrites: RateLimit
  /** Limit per session for revoking access, which stays possible after the limits for changes are used up. */
  revocations: RateLimit
}

/** The names of limits per address that an operation can use instead of `requests`. */
export type OwnLimit = 'guesses' | 'notifications'

/** Creates the limits, each in calls per minute (0 for no limit). Revocations have the same limit as user changes. */
export function openLimits(
  perMinute: Record<Exclude<keyof Limits, 'revocations'>, number>,
): Limits {
  return {
    requests: rateLimit('requests', perMinute.requests),
    guesses: rateLimit('guesses', perMinute.guesses),
    notifications: rateLimit('notifications', perMinute.notifications),
    userWrites: rateLimit('writes', perMinute.userWrites),
    tenantWrites: rateLimit('tenant-writes', perMinute.tenantWrites),
    revocations: rateLimit('revocations', perMinute.userWrites),
  }
}

/** Creates a limit. Its headers show `name`. @param perMinute calls per key and minute; 0 for no limit */
export function rateLimit(name: string, perMinute: number): RateLimit {
  if (perMinute === 0) return { take: () => undefined }
  const quota = createQuota(perMinute)
  const policy = `"${name}";q=${perMinute};w=${WINDOW_SECONDS}`
  return {
    async take(key, reply) {
      const { isExceeded, remaining, resetMs } = await quota(key)
      const reset = Math.ceil(resetMs / 1000)
      add(reply, 'ratelimit-policy', policy)
      add(reply, 'ratelimit', `"${name}";r=${remaining};t=${reset}`)
      if (isExceeded) throw new Problem('too_many_requests', { retryAfter: reset })
    },
  }
}

/** Appends an item to a list header, because a call may count against several limits. */
function add(reply: FastifyReply, name: string, item: string): void {
  const before = reply.getHeader(name)
  reply.header(name, before === undefined ? item : `${before}, ${item}`)
}
