/** How often something may be on this node: the same for every key, in any minute. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

const WINDOW_SECONDS = 60

/** Counts something of `key`. Returns the milliseconds until it may be again, 0 where it may be now. */
export type RateLimiter = (key: string) => Promise<number>

/** @param perMinute how often it may be of one key in any minute; 0 for no limit */
export function createRateLimiter(perMinute: number): RateLimiter {
  if (perMinute === 0) return async () => 0
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  return async (key) => {
    try {
      await limiter.consume(key)
      return 0
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      return Math.max(refused.msBeforeNext, 1)
    }
  }
}
