import type { Logger } from './log.ts'

/**
 * Waits for work whose failure must not stop its caller, and gives the swallowed error a name in
 * the log: `canFail(promise, 'closing the listener', log)`.
 */
export async function canFail<T>(
  work: Promise<T>,
  what: string,
  log: Logger,
): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    log.warn({ err: error }, `${what} failed`)
    return undefined
  }
}

/** As `canFail`, for work that is done at once and has no reason to throw. */
export function canThrow(work: () => void, what: string, log: Logger): void {
  try {
    work()
  } catch (error) {
    log.error({ err: error }, `${what} failed`)
  }
}
