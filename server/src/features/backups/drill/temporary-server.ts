/** Runs a task on a temporary embedded server, which is deleted afterwards with all its data. */
import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../../../lib/startup-error.ts'
import type { DatabaseAddress } from '../../../platform/db/index.ts'
import {
  deleteLeftFolder,
  type EmbeddedServer,
  NoBinariesError,
  startEmbedded,
} from '../../../platform/embedded/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { folderStore } from '../stores/folder.ts'

const PREFIX = 'drill-'
/**
 * The estimated ratio of database size to backup size. A database is larger because its rows and indexes are not
 * compressed. Used to check free space in advance.
 */
const GROWS_BY = 12
/** Disables durability, because the data is not needed after a crash. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/** Thrown when the temporary server could not start. The backup itself may be valid. */
export class NotTriedError extends StartupError {}

export interface ThrowAwayDeps {
  /** The folder in which the server creates its own folder. */
  dataDir: string
  log: Logger
  /** Stops the server at once when it aborts, which ends the task's queries. */
  signal?: AbortSignal
}

/**
 * Starts a temporary server, runs a task on it and returns the task's result.
 * @param size the size of the backup, in bytes
 * @param work receives a logger without info and warning messages, because a temporary restore logs nothing useful
 * @throws NotTriedError if the server cannot start, NoRoomError if the disk has too little space, the signal's reason
 */
export async function onThrowAwayServer<T>(
  { dataDir, log, signal }: ThrowAwayDeps,
  size: number,
  work: (address: DatabaseAddress, quiet: Logger) => Promise<T>,
): Promise<T> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await folderStore(dataDir).requireRoom(size * GROWS_BY)
  const folder = await makeFolder(dataDir)
  const quiet = { ...log, info: () => undefined, warn: () => undefined }
  try {
    signal?.throwIfAborted()
    const server = await start(folder, quiet)
    const stop = () => void canFail(server.stop(), 'stop of a temporary server', log)
    signal?.addEventListener('abort', stop)
    try {
      signal?.throwIfAborted()
      return await work(server.connection, quiet)
    } catch (error) {
      // After the signal, the error is only its consequence.
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', stop)
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
        ? `A test restore requires the embedded PostgreSQL, which is not installed for ${error.platform}. Run "npm install" without --omit=optional on this machine.`
        : (error as Error).message,
    )
  }
}

/** Deletes server folders left behind by crashed processes. */
export async function clearThrownAway(dataDir: string, log: Logger): Promise<void> {
  const names = await readdir(dataDir).catch(() => [])
  for (const name of names)
    if (name.startsWith(PREFIX))
      await canFail(deleteLeftFolder(join(dataDir, name)), 'deletion of a test restore folder', log)
}

async function makeFolder(dataDir: string): Promise<string> {
  // As root, PostgreSQL runs under another account, which must be able to enter the parent folder but not list it.
  if (process.getuid?.() === 0) await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
  return mkdtemp(join(dataDir, PREFIX))
}
