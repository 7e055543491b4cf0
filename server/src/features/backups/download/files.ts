/** Reads the files of backups for downloads. */
import { Problem } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { Backup } from '../backups.schema.ts'
import { fileName } from '../file/names.ts'
import { requireCompleted } from '../restore-in-place/order.ts'
import { type ByteRange, NotStoredError, type Store, StoreError } from '../stores/store.ts'
import type { BackupReadLocks } from '../work/reading.ts'

const STORE_RETRY_SECONDS = 60

export type FindBackup = (caller: Admin, id: string) => Promise<Backup>

export interface BackupFilesDeps {
  store: Store
  reading: BackupReadLocks
  /** Finds a backup that the caller can see. @throws Problem 404 for any other backup */
  find: FindBackup
}

export type BackupFiles = ReturnType<typeof backupFiles>

export function backupFiles({ store, reading, find }: BackupFilesDeps) {
  /** Streams a backup's file. Checks first, under the read lock, that the file was not deleted or replaced. */
  async function* read(caller: Admin, { backup_id, rewritten_at }: Backup, range?: ByteRange) {
    await using _lock = await reading.lock(backup_id)
    const stays = await find(caller, backup_id)
    if (stays.rewritten_at !== rewritten_at) throw new Problem('backup_file_gone')
    try {
      yield* store.read(fileName(backup_id, rewritten_at), range)
    } catch (error) {
      unlessAway(error)
    }
  }

  return {
    /** @throws Problem 404 for an incomplete backup, 503 without its file or store */
    async fileOf(caller: Admin, backup: Backup) {
      requireCompleted(backup)
      const name = fileName(backup.backup_id, backup.rewritten_at)
      const size = await store.size(name).catch(unlessAway)
      return {
        name,
        whole: { size, etag: backup.sha256 ?? backup.backup_id },
        open: (range?: ByteRange) => read(caller, backup, range),
      }
    },
  }
}

/** Throws the problem that corresponds to a store error. Throws every other error unchanged. */
export function unlessAway(error: unknown): never {
  if (error instanceof NotStoredError) throw new Problem('backup_file_gone', { cause: error })
  if (error instanceof StoreError)
    throw new Problem('backup_store_away', { cause: error, retryAfter: STORE_RETRY_SECONDS })
  throw error
}
