/**
 * The drill: a backup is restored, by the code of the real restore, into an embedded server that is thrown
 * away. How long that took is the time that a recovery takes.
 */
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { SealedTable, Sealer } from '../../../platform/crypto/index.ts'
import { deleteLeftFolder, startEmbedded } from '../../../platform/db/embedded/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { restoreIntoEmpty } from '../empty/restore.ts'
import type { Header } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import { folderStore } from '../stores/folder.ts'
import { proveSeals } from './seals.ts'

const PREFIX = 'drill-'
/** Rows and their indexes are larger than what compresses them; less is no reason to fill the disk. */
const GROWS_BY = 12
/** It is thrown away, whatever becomes of the machine. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

export interface DrillDeps {
  /** Where the server's folder is made. */
  dataDir: string
  keeper: Keeper
  sealer: Sealer
  /** What data keys seal. */
  sealed: readonly SealedTable[]
  log: Logger
}

export interface Drilled {
  header: Header
  /** From the first byte to the last check. */
  seconds: number
}

/**
 * @param file its bytes
 * @param size how many
 * @throws Error that says what is wrong with it, and NoRoomError before the disk is full
 */
export async function drill(
  file: AsyncIterable<Uint8Array>,
  size: number,
  { dataDir, keeper, sealer, sealed, log }: DrillDeps,
): Promise<Drilled> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await folderStore(dataDir).requireRoom(size * GROWS_BY)
  const folder = await makeFolder(dataDir)
  try {
    const quiet = { ...log, info: () => undefined }
    const server = await startEmbedded({ dataDir: folder, log: quiet, settings: SETTINGS })
    try {
      const begun = performance.now()
      const { connection: address } = server
      const { header } = await restoreIntoEmpty(file, { address, keeper, log })
      await proveSeals(address, sealer, sealed, log)
      return { header, seconds: (performance.now() - begun) / 1000 }
    } finally {
      await server.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Deletes what drills that died have left. */
export async function clearDrills(dataDir: string, log: Logger): Promise<void> {
  const names = await readdir(dataDir).catch(() => [])
  for (const name of names)
    if (name.startsWith(PREFIX))
      await canFail(deleteLeftFolder(join(dataDir, name)), "deleting a drill's folder", log)
}

async function makeFolder(dataDir: string): Promise<string> {
  // Root hands the server to another account, which has to get as far as its folder, and no further.
  if (process.getuid?.() === 0) await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
  return mkdtemp(join(dataDir, PREFIX))
}
