/**
 * Bounds how often one address may call, and tells it where it stands (the `RateLimit` header
 * fields of draft-ietf-httpapi-ratelimit-headers).
 */
import type { FastifyReply } from 'fastify'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Problem } from '../../lib/problems.ts'

const WINDOW_SECONDS = 60

export interface RateLimit {
  /** Counts a call of `key`; undefined when there is no limit. @throws Problem 429 beyond it */
  take(key: string, reply: FastifyReply): Promise<void> | undefined
}

/** @param perMinute calls of one key in any minute; 0 for no limit */
export function rateLimit(name: string, perMinute: number): RateLimit {
  if (perMinute === 0) return { take: () => undefined }
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  const policy = `"${name}";q=${perMinute};w=${WINDOW_SECONDS}`
  const tell = (reply: FastifyReply, left: RateLimiterRes) => {
    const reset = Math.ceil(left.msBeforeNext / 1000)
    reply.header('ratelimit-policy', policy)
    reply.header('ratelimit', `"${name}";r=${Math.max(left.remainingPoints, 0)};t=${reset}`)
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
