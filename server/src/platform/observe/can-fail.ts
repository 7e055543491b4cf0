import type { Logger } from './log.ts'

/**
 * Awaits work whose failure must not affect the caller. Logs the error under the name `what` and returns undefined:
 * `canFail(promise, 'closing the listener', log)`.
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

/** Runs synchronous work that should never throw. If it throws, logs the error under the name `what`. */
export function canThrow(work: () => void, what: string, log: Logger): void {
  try {
    work()
  } catch (error) {
    log.error({ err: error }, `${what} failed`)
  }
}
