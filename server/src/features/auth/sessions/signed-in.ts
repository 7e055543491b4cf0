/** Whether a session goes on. */
import { Problem } from '../../../lib/problems.ts'
import type { RequireSignedIn } from '../../../platform/access/index.ts'
import { isSignedIn } from './sessions.store.ts'

/** As `RequireSignedIn` says. */
export const requireSignedIn: RequireSignedIn = async (tx, caller) => {
  if (!(await isSignedIn(tx, caller))) throw sessionEnded()
}

/** What the holder of an ended session is told. */
export const sessionEnded = (): Problem =>
  new Problem('invalid_token', { detail: 'The session has ended; sign in again' })
