/** Prevents the deletion of backups that a node is reading. A process that loses its lock continues reading. */
import { Problem } from '../../../lib/problems.ts'
import { readLockOf } from '../backups.store.ts'
import type { BackupLocks } from './locks.ts'

const RETRY_SECONDS = 1

export interface BackupReadLocks {
  /**
   * Prevents the deletion of a backup until the returned object is disposed of. The caller must look up the backup
   * after this call, because it may have been deleted before.
   * @throws Problem 503 while the backup is being deleted
   */
  lock(id: string): Promise<AsyncDisposable>
}

export const openReading = (locks: BackupLocks): BackupReadLocks => ({
  async lock(id) {
    const lock = await locks.share('longReads', readLockOf(id))
    if (!lock) throw new Problem('busy', { retryAfter: RETRY_SECONDS })
    return lock
  },
})
