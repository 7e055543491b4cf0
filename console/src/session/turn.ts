/** Lets the tabs of a browser take turns at changing the session. */

const LOCK = 'wardkeep-session'
const PATIENCE_MS = 4000

/**
 * Runs `work` while no other tab runs its own. Goes on without the lock when a tab keeps it for too long, and where
 * the browser has no locks (plain HTTP): the service tolerates renewals at the same time.
 */
export async function takeTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  // The type says that locks always exist. Outside a secure context they do not.
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
