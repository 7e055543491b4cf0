/** Waits for work, but not longer than it is worth. */
import { setTimeout as delay } from 'node:timers/promises'

/** Returns whether the work ended within `ms`; what it is given is not its business. Throws as it does. */
export async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(ms, false, { signal: timer.signal }).catch(() => false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    timer.abort()
  }
}
