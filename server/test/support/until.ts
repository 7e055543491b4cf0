/** Polls for a condition when the test receives no event for it. */
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Polls until the check returns a value. Null, undefined and a thrown error count as "not yet".
 * @throws Error after `patience` ms, with the last error as its cause
 */
export async function until<T>(
  what: string,
  check: () => Promise<T | null | undefined> | T | null | undefined,
  patience = 60_000,
): Promise<T> {
  const deadline = Date.now() + patience
  let last: unknown
  while (Date.now() < deadline) {
    try {
      const found = await check()
      if (found !== undefined && found !== null) return found
    } catch (error) {
      last = error
    }
    await delay(10)
  }
  throw new Error(`not within ${patience} ms: ${what}`, { cause: last })
}
