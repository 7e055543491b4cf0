/**
 * Bounds how often one address, user or tenant may call, and tells where they stand (the `RateLimit`
 * header fields of draft-ietf-httpapi-ratelimit-headers).
 */
import type { FastifyReply } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../../lib/problems.ts'

const WINDOW_SECONDS = 60

export interface RateLimit {
  /** Counts a call of `key`; undefined when there is no limit. @throws Problem 429 beyond it */
  take(key: string, reply: FastifyReply): Promise<void> | undefined
}

export interface Limits {
  /** Of one address, whatever is asked for. */
  requests: RateLimit
  /** Of one address and operation that anyone may guess at secrets with. */
  guesses: RateLimit
  /** Of one address and operation that another service notifies, for all tenants from few addresses. */
  notifications: RateLimit
  /** Of one user, for what changes something: each change is kept in the journal for good. */
  userWrites: RateLimit
  /** Of all users of one tenant together. */
  tenantWrites: RateLimit
  /** Of one session, for what ends access: whoever uses up the changes of others does not keep them from it. */
  revocations: RateLimit
}

/** The limits of an address that an operation may have in place of `requests`. */
export type OwnLimit = 'guesses' | 'notifications'

/** Opens the limits, each with its calls a minute; 0 for no limit. A session has as many revocations as a user changes. */
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

/** @param perMinute calls of one key in any minute; 0 for no limit */
export function rateLimit(name: string, perMinute: number): RateLimit {
  if (perMinute === 0) return { take: () => undefined }
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  const policy = `"${name}";q=${perMinute};w=${WINDOW_SECONDS}`
  const tell = (reply: FastifyReply, left: RateLimiterRes) => {
    const reset = Math.ceil(left.msBeforeNext / 1000)
    add(reply, 'ratelimit-policy', policy)
    add(reply, 'ratelimit', `"${name}";r=${Math.max(left.remainingPoints, 0)};t=${reset}`)
    return reset
  }
  return {
    async take(key, reply) {
      try {
        tell(reply, await limiter.consume(key))
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused
        throw new Problem('too_many_requests', { retryAfter: tell(reply, refused) })
      }
    },
  }
}

/** Both fields are lists: a call may count towards several limits. */
function add(reply: FastifyReply, name: string, item: string): void {
  const before = reply.getHeader(name)
  reply.header(name, before === undefined ? item : `${before}, ${item}`)
}
