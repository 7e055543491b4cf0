/** Counts the calls per key in windows of one minute. Each node counts separately. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

export const WINDOW_SECONDS = 60

/** The state of a key's quota after a call was counted. */
export interface QuotaUse {
  isExceeded: boolean
  /** The number of calls left in the window. */
  remaining: number
  /** Milliseconds until the window ends. */
  resetMs: number
}

/**
 * Creates a quota. The returned function counts a call of a key.
 * @param perMinute calls per key and minute, at least 1
 */
export function createQuota(perMinute: number): (key: string) => Promise<QuotaUse> {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  return async (key) => {
    const [isExceeded, state] = await limiter.consume(key).then(
      (left) => [false, left] as const,
      (refused) => {
        if (!(refused instanceof RateLimiterRes)) throw refused
        return [true, refused] as const
      },
    )
    return {
      isExceeded,
      remaining: Math.max(state.remainingPoints, 0),
      resetMs: Math.max(state.msBeforeNext, 1),
    }
  }
}

/**
 * Counts a call of `key`. Returns 0 if the call is allowed. Otherwise returns the milliseconds until the next call is
 * allowed.
 */
export type RateLimiter = (key: string) => Promise<number>

/** Creates a rate limiter. @param perMinute calls per key and minute; 0 for no limit */
export function createRateLimiter(perMinute: number): RateLimiter {
  if (perMinute === 0) return async () => 0
  const take = createQuota(perMinute)
  return async (key) => {
    const { isExceeded, resetMs } = await take(key)
    return isExceeded ? resetMs : 0
  }
}
