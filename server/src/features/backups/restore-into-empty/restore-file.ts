/** Restores a file: opened by the root key, read once, and told how far it is. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartupError } from '../../../lib/startup-error.ts'
import { notesIn } from '../erase/notes.ts'
import { recordNotesIn } from '../erase/purged-records.ts'
import { keeperBy } from '../file/identity.ts'
import { folderStore } from '../stores/folder.ts'
import { type Store, StoreError } from '../stores/store.ts'
import { type RestoreDeps, type Restored, restoreIntoEmpty } from './restore.ts'

const NOTED_THERE =
  'Tenants and patients that were purged are noted there, and would come back: ask again once it answers, or restore without it and with the notes beside the file.'

export interface FileDeps extends Omit<RestoreDeps, 'keeper' | 'notes' | 'recordNotes'> {
  /** Those that there are. */
  rootKeys: readonly [Uint8Array, ...Uint8Array[]]
  /** Where backups lie by the configuration: notes of purged tenants and patients there hold, as those beside the file. */
  store: Store
  /** Told of the share that is read, between 0 and 1. */
  onProgress?: ((share: number) => void) | undefined
}

/** @throws StartupError that says why not; the database is then as empty as before */
export async function restoreFile(
  path: string,
  { rootKeys, store, onProgress, ...deps }: FileDeps,
): Promise<Restored> {
  const { size } = await stat(path).catch((error: Error) => {
    throw new StartupError(`${path} cannot be read (${error.message}).`)
  })
  const keeper = await keeperBy(rootKeys, [])
  const beside = folderStore(dirname(path))
  const stores = beside.place === store.place ? [store] : [store, beside]
  const read = async () => ({
    notes: await notesIn(stores, keeper, deps.log),
    recordNotes: await recordNotesIn(stores, keeper, deps.log),
  })
  const noted = await read().catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error
    throw new StartupError(`Nothing was restored: ${error.message}. ${NOTED_THERE}`)
  })
  async function* told() {
    let read = 0
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      read += chunk.length
      onProgress?.(read / size)
      yield chunk as Buffer
    }
  }
  return restoreIntoEmpty(told(), { ...deps, ...noted, keeper })
}
