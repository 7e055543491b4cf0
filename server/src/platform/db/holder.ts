/** Locks that are held by a connection of their own, and so end with it: nothing stays behind a process that dies. */
import type { Connection } from './connection.ts'
import { LOCKS } from './lock-numbers.ts'

export interface Holder {
  /** Takes the lock where nobody holds it. Returns whether it is held now. */
  take(lock: keyof typeof LOCKS, number: number): Promise<boolean>
  /** As `take`, beside others that share it. */
  share(lock: keyof typeof LOCKS, number: number): Promise<boolean>
  release(lock: keyof typeof LOCKS, number: number): Promise<void>
  /** As `release`, of what was taken by `share`: as often as it was shared. */
  unshare(lock: keyof typeof LOCKS, number: number): Promise<void>
  /** Aborts when the connection is lost, and all its locks with it. */
  readonly lost: AbortSignal
  /** Gives all locks back. */
  close(): Promise<void>
}

export async function openHolder(connection: Connection): Promise<Holder> {
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
