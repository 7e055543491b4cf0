/** Lets the tabs of a browser take turns at changing the session. */

const LOCK = 'wardkeep-session'
const PATIENCE_MS = 4000

/**
 * Runs `work` while no other tab runs its own. Continues without the lock if another tab keeps it for too long, or if
 * the browser has no locks (plain HTTP). The service tolerates concurrent renewals.
 */
export async function takeTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  // The type of `locks` is wrong: it does not exist outside a secure context.
  const locks: LockManager | undefined = navigator.locks
  if (!locks) return work()
  let hasStarted = false
  try {
    return await locks.request(LOCK, { signal: AbortSignal.timeout(PATIENCE_MS) }, () => {
      hasStarted = true
      return work()
    })
  } catch (error) {
    if (hasStarted) throw error
    return work()
  }
}
