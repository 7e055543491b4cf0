/**
 * The advisory locks of this process for backups: for the files that it reads, the jobs that it runs, and its readiness
 * to claim jobs. All locks share one connection, so they end when the process dies. The connection is open as long as
 * any lock is held.
 */
import { Problem } from '../../../lib/problems.ts'
import {
  type LockConnection,
  openLockConnection,
  type PgConnection,
  withDeadline,
} from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'

/** The time limit of a lock query. Lock queries never wait, so they normally return immediately. */
const ANSWERS_WITHIN_MS = 10_000

export interface AcquiredLock extends AsyncDisposable {
  /** Aborts when the connection is lost, which also ends the lock. */
  readonly lost: AbortSignal
}

export interface BackupLocks {
  /**
   * Acquires a shared lock. Returns undefined if another connection holds the lock exclusively.
   * @throws Problem 503 if the database does not respond
   */
  share(...lock: Parameters<LockConnection['share']>): Promise<AcquiredLock | undefined>
}

interface SharedConnection {
  holder: Promise<LockConnection>
  users: number
}

export function openBackupLocks(deps: {
  openConnection(): PgConnection
  log: Logger
}): BackupLocks {
  let current: SharedConnection | undefined

  function open(): SharedConnection {
    const opened = { holder: openLockConnection(deps.openConnection()), users: 0 }
    const forget = () => abandon(opened)
    opened.holder.then(({ lost }) => lost.addEventListener('abort', forget), forget)
    return opened
  }

  function abandon(connection: SharedConnection): void {
    if (current === connection) current = undefined
  }

  /** Waits for a result. After a timeout, drops the connection, so that the next lock opens a new one. */
  async function answered<T>(connection: SharedConnection, answer: Promise<T>): Promise<T> {
    try {
      return await withDeadline(answer, ANSWERS_WITHIN_MS)
    } catch (error) {
      abandon(connection)
      throw new Problem('database_away', { cause: error })
    }
  }

  async function leave(connection: SharedConnection, unlock?: () => Promise<void>) {
    connection.users -= 1
    const isLast = connection.users === 0
    if (isLast) abandon(connection)
    const left = connection.holder.then((holder) => (isLast ? holder.close() : unlock?.()))
    await canFail(answered(connection, left), 'releasing a lock of a backup', deps.log)
  }

  return {
    async share(...lock) {
      current ??= open()
      const connection = current
      connection.users += 1
      let isAcquired = false
      try {
        const holder = await answered(connection, connection.holder)
        isAcquired = await answered(connection, holder.share(...lock))
        const release = () => leave(connection, () => holder.unshare(...lock))
        return isAcquired ? { lost: holder.lost, [Symbol.asyncDispose]: release } : undefined
      } finally {
        if (!isAcquired) await leave(connection)
      }
    },
  }
}
