import type { Logger } from '../observe/log.ts'
import { isResting, problemOf } from './failures.ts'

const isAway = (error: unknown) => error !== undefined && problemOf(error)?.code === 'database_away'

/** Returns a poller's error handler. Logs only the first failure of an outage, and no refusals by maintenance mode. */
export function logFailures(what: string, log: Logger) {
  return (error: unknown, previous: unknown): void => {
    if (!isResting(error) && !(isAway(error) && isAway(previous)))
      log.warn({ err: error }, `${what} failed`)
  }
}
