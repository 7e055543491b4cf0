import type { Logger } from '../observe/log.ts'
import { isResting, problemOf } from './failures.ts'

const isAway = (error: unknown) => error !== undefined && problemOf(error)?.code === 'database_away'

/**
 * Returns an error handler for a poller. It logs that `what` has failed. While the database is unavailable, it logs
 * only the first failure. It does not log work that maintenance mode has refused.
 */
export function logFailures(what: string, log: Logger) {
  return (error: unknown, previous: unknown): void => {
    if (!isResting(error) && !(isAway(error) && isAway(previous)))
      log.warn({ err: error }, `${what} failed`)
  }
}
