import type { Logger } from '../observe/log.ts'
import { isResting, problemOf } from './failures.ts'

const isAway = (error: unknown) => error !== undefined && problemOf(error)?.code === 'database_away'

/**
 * Returns what a poller tells of its failures: `what` has failed, once while it only fails because
 * the database is away, and never while it rests beside a restore.
 */
export function logFailures(what: string, log: Logger) {
  return (error: unknown, previous: unknown): void => {
    if (!isResting(error) && !(isAway(error) && isAway(previous)))
      log.warn({ err: error }, `${what} failed`)
  }
}
