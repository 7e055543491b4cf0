/** Holds advisory locks on a dedicated connection, so that a process that dies leaves no lock behind. */
import type { PgConnection } from './connection.ts'
import { LOCKS } from './lock-numbers.ts'

export interface LockConnection {
  /** Takes the lock if no other session holds it. Returns whether it succeeded. */
  take(lock: keyof typeof LOCKS, number: number): Promise<boolean>
  /** Takes the lock in shared mode. Returns whether it succeeded. */
  share(lock: keyof typeof LOCKS, number: number): Promise<boolean>
  release(lock: keyof typeof LOCKS, number: number): Promise<void>
  /** Releases a lock that `share` has taken. The caller must call this once per `share`. */
  unshare(lock: keyof typeof LOCKS, number: number): Promise<void>
  /** Aborts when the connection is lost, which releases all locks. */
  readonly lost: AbortSignal
  close(): Promise<void>
}

export async function openLockConnection(connection: PgConnection): Promise<LockConnection> {
  const losing = new AbortController()
  connection.on('error', (error) => losing.abort(error))
  await connection.connect()
  const call = async (name: string, lock: keyof typeof LOCKS, number: number) => {
    const values = [LOCKS[lock], number]
    const { rows } = await connection.query(`select ${name}($1, $2) as done`, values)
    return rows[0]?.done === true
  }
  return {
    take: (lock, number) => call('pg_try_advisory_lock', lock, number),
    share: (lock, number) => call('pg_try_advisory_lock_shared', lock, number),
    release: async (lock, number) => void (await call('pg_advisory_unlock', lock, number)),
    unshare: async (lock, number) => void (await call('pg_advisory_unlock_shared', lock, number)),
    lost: losing.signal,
    close: () => connection.end(),
  }
}
