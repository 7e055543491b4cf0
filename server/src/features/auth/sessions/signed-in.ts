/** Checks within a transaction that the caller's session is still live. */
import { Problem } from '../../../lib/problems.ts'
import type { RequireSignedIn } from '../../../platform/access/index.ts'
import { isSignedIn } from './sessions.store.ts'

/** Checks that the caller's session is still live. @throws Problem 401 if the session has ended */
export const requireSignedIn: RequireSignedIn = async (tx, caller) => {
  if (!(await isSignedIn(tx, caller))) throw sessionEnded()
}

/** Returns the error for a caller whose session has ended. */
export const sessionEnded = (): Problem =>
  new Problem('invalid_token', { detail: 'The session has ended. Sign in again.' })
