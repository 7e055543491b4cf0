/**
 * Runs a test restore (drill): restores a backup into a temporary embedded server with the code of a real restore. The
 * measured duration predicts how long a recovery would take.
 */
import type { DatabaseAddress } from '../../../platform/db/index.ts'
import { notesIn } from '../erase/purge-notes.ts'
import type { Header } from '../file/format.ts'
import type { BackupKeys } from '../file/identity.ts'
import { restoreIntoEmpty } from '../restore-into-empty/restore.ts'
import type { Store } from '../stores/store.ts'
import { onThrowAwayServer, type ThrowAwayDeps } from './temporary-server.ts'

export interface DrillDeps extends ThrowAwayDeps {
  backupKeys: BackupKeys
  /** Verifies that the restored data can be decrypted. @throws Error if it cannot */
  verify(address: DatabaseAddress): Promise<void>
  /** The stores with the notes of purged tenants, whose data must not be restored. */
  stores: readonly Store[]
}

export interface Drilled {
  header: Header
  records: number
  /** The time in seconds from reading the first byte to finishing the last check. */
  seconds: number
}

/**
 * Restores a backup into a temporary server and verifies its encrypted data.
 * @param file the bytes of the backup file
 * @param size the number of bytes in the file
 * @throws Error with the fault of the file, and any error of `onThrowAwayServer`
 */
export function drill(
  file: AsyncIterable<Uint8Array>,
  size: number,
  deps: DrillDeps,
): Promise<Drilled> {
  const { backupKeys, verify, stores } = deps
  return onThrowAwayServer(deps, size, async (address, log) => {
    const begun = performance.now()
    const notes = await notesIn(stores, backupKeys, deps.log)
    const restored = await restoreIntoEmpty(file, {
      address,
      backupKeys,
      log,
      notes,
      recordNotes: [],
      purgedRecords: [],
    })
    await verify(address)
    return { ...restored, seconds: (performance.now() - begun) / 1000 }
  })
}
