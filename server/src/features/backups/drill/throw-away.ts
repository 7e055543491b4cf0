/** An embedded server for one piece of work, which is thrown away with all that is in it. */
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../../../lib/startup-error.ts'
import {
  deleteLeftFolder,
  type EmbeddedServer,
  NoBinariesError,
  startEmbedded,
} from '../../../platform/db/embedded/index.ts'
import type { DatabaseAddress } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { folderStore } from '../stores/folder.ts'

const PREFIX = 'drill-'
/** Rows and their indexes are larger than what compresses them; less is no reason to fill the disk. */
const GROWS_BY = 12
/** Whatever becomes of the machine, nobody looks for it. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/** There is no server, which says nothing of what was to be tried on it. */
export class NotTriedError extends StartupError {}

export interface ThrowAwayDeps {
  /** Where the server's folder is made. */
  dataDir: string
  log: Logger
}

/**
 * @param size of the backup that it takes
 * @param work what is told of a copy coming to be concerns nobody: it gets a log that keeps it to itself
 * @throws NotTriedError, and NoRoomError before the disk is full
 */
export async function onThrowAwayServer<T>(
  { dataDir, log }: ThrowAwayDeps,
  size: number,
  work: (address: DatabaseAddress, quiet: Logger) => Promise<T>,
): Promise<T> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await folderStore(dataDir).requireRoom(size * GROWS_BY)
  const folder = await makeFolder(dataDir)
  const quiet = { ...log, info: () => undefined, warn: () => undefined }
  try {
    const server = await start(folder, quiet)
    try {
      return await work(server.connection, quiet)
    } finally {
      await server.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function start(folder: string, log: Logger): Promise<EmbeddedServer> {
  try {
    return await startEmbedded({ dataDir: folder, log, settings: SETTINGS })
  } catch (error) {
    throw new NotTriedError(
      error instanceof NoBinariesError
        ? `It takes an embedded PostgreSQL, which is thrown away afterwards, and node_modules has none for ${error.platform}: run "npm install" without --omit=optional on this machine.`
        : (error as Error).message,
    )
  }
}

/** Deletes what processes that died have left. */
export async function clearThrownAway(dataDir: string, log: Logger): Promise<void> {
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
