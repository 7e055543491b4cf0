/** Restores a backup file into an empty database and reports the progress. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartupError } from '../../../lib/startup-error.ts'
import { notesIn } from '../erase/purge-notes.ts'
import { recordNotesIn } from '../erase/purged-records.ts'
import { backupKeysFrom } from '../file/identity.ts'
import { folderStore } from '../stores/folder.ts'
import { type Store, StoreError } from '../stores/store.ts'
import { type EmptyRestoreDeps, type Restored, restoreIntoEmpty } from './restore.ts'

const NOTED_THERE =
  'The store lists the purged tenants and patients, which would otherwise be restored. Try again when the store responds, or put these lists beside the file and restore without the store.'

export interface RestoreFileDeps
  extends Omit<EmptyRestoreDeps, 'backupKeys' | 'notes' | 'recordNotes'> {
  /** The root keys. The current one comes first. */
  rootKeys: readonly [Uint8Array, ...Uint8Array[]]
  /** The configured store. The restore applies its notes of purged tenants and patients, and those next to the file. */
  store: Store
  /** Receives the share of the file that was read, between 0 and 1. */
  onProgress?: ((share: number) => void) | undefined
}

/** Restores a backup file. @throws StartupError with the cause; the database then stays empty */
export async function restoreFile(
  path: string,
  { rootKeys, store, onProgress, ...deps }: RestoreFileDeps,
): Promise<Restored> {
  const { size } = await stat(path).catch((error: Error) => {
    throw new StartupError(`${path} could not be read (${error.message}).`)
  })
  const backupKeys = await backupKeysFrom(rootKeys, [])
  const beside = folderStore(dirname(path))
  const stores = beside.place === store.place ? [store] : [store, beside]
  const read = async () => ({
    notes: await notesIn(stores, backupKeys, deps.log),
    recordNotes: await recordNotesIn(stores, backupKeys, deps.log),
  })
  const noted = await read().catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error
    throw new StartupError(`Nothing was restored: ${error.message}. ${NOTED_THERE}`)
  })
  async function* withProgress() {
    let read = 0
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      read += chunk.length
      onProgress?.(read / size)
      yield chunk as Buffer
    }
  }
  return restoreIntoEmpty(withProgress(), { ...deps, ...noted, backupKeys })
}
