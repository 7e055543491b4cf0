/** Restores a file: opened by the root key, read once, and told how far it is. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { StartupError } from '../../../lib/startup-error.ts'
import { keysFrom } from '../../../platform/crypto/index.ts'
import { openKeeper } from '../file/identity.ts'
import { type RestoreDeps, type Restored, restoreIntoEmpty } from './restore.ts'

export interface FileDeps extends Omit<RestoreDeps, 'keeper'> {
  rootKey: Uint8Array
  /** Told of the share that is read, between 0 and 1. */
  onProgress?: ((share: number) => void) | undefined
}

/** @throws StartupError that says why not; the database is then as empty as before */
export async function restoreFile(
  path: string,
  { rootKey, onProgress, ...deps }: FileDeps,
): Promise<Restored> {
  const { size } = await stat(path).catch((error: Error) => {
    throw new StartupError(`${path} cannot be read (${error.message}).`)
  })
  const keeper = await openKeeper(keysFrom(rootKey), [])
  async function* told() {
    let read = 0
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      read += chunk.length
      onProgress?.(read / size)
      yield chunk as Buffer
    }
  }
  return restoreIntoEmpty(told(), { ...deps, keeper })
}
