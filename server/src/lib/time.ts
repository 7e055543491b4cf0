/** The time source of the service: dates, elapsed time and timers. The composition root passes it to all code. */
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, systemClock } from './clock.ts'

/** A clock with timers. Passed to pollers, leases, pacers and timeouts, so that tests can move time. */
export interface Time extends Clock {
  /** Returns milliseconds that never decrease. Only the difference between two values is meaningful. */
  monotonic(): number
  /** Resolves after `ms`. Rejects with an `AbortError` when the signal aborts. */
  delay(ms: number, options?: { signal?: AbortSignal | undefined }): Promise<void>
  /** Calls `work` once after `ms`. Returns a function that cancels the timer. */
  after(ms: number, work: () => void): () => void
  /** Calls `work` every `ms`, without keeping the process alive. Returns a function that cancels the timer. */
  every(ms: number, work: () => void): () => void
}

export const systemTime: Time = {
  ...systemClock,
  monotonic: () => performance.now(),
  delay: (ms, { signal } = {}) => wait(ms, undefined, signal ? { signal } : {}),
  after(ms, work) {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
  every(ms, work) {
    const timer = setInterval(work, ms).unref()
    return () => clearInterval(timer)
  },
}
