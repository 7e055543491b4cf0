/** What of a failed transaction is the database's, and what is of something in it. */
import { problemOf } from '../../../platform/db/index.ts'

/** Whether it passes by itself, and so means all that was written together; any other means one of them. */
export function isPassing(error: unknown): boolean {
  const code = problemOf(error)?.code
  return code === 'database_away' || code === 'busy'
}
