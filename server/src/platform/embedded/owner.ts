/**
 * Restricts a data folder to one service with a file lock, which the kernel releases when the process ends. Of several
 * processes, exactly one gets it. Uses SQLite, because Node has no other file lock.
 */
import { access, chmod, constants, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { StartupError } from '../../lib/startup-error.ts'

/** Thrown if another process has locked the data folder. */
export class FolderTaken extends StartupError {}

export interface Ownership {
  release(): Promise<void>
}

interface Holder {
  readonly pid: number
  readonly since: string
  readonly program: string
}

const SQLITE_BUSY = 5

/** Locks the folder. @throws FolderTaken if another process has locked it; the message names the process */
export async function takeFolder(folder: string): Promise<Ownership> {
  const lockPath = join(folder, 'owner.lock')
  const holderPath = join(folder, 'owner.json')
  const lock = await tryLock(lockPath)
  if (!lock) throw new FolderTaken(await refusal(folder, holderPath))
  try {
    await chmod(lockPath, 0o600)
    const holder: Holder = {
      pid: process.pid,
      since: new Date().toISOString(),
      program: process.argv[1] ?? 'node',
    }
    await writeFile(holderPath, JSON.stringify(holder), { mode: 0o600 })
  } catch (error) {
    lock.close()
    throw error
  }
  return {
    async release() {
      await rm(holderPath, { force: true }).finally(() => lock.close())
    },
  }
}

/**
 * Returns undefined if another process has locked the file. Opens it once, because closing any descriptor unlocks
 * (POSIX).
 */
async function tryLock(path: string): Promise<DatabaseSync | undefined> {
  await access(path, constants.R_OK | constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // The transaction writes nothing. It therefore creates no journal file, and works on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
    return database
  } catch (error) {
    database.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw error
  }
}

async function refusal(folder: string, holderPath: string): Promise<string> {
  const holder = await readHolder(holderPath)
  const name = holder
    ? `process ${holder.pid}, ${holder.program}, started ${holder.since}`
    : 'an unknown process'
  return `Another Wardkeep (${name}) is running on the data folder ${folder}. Stop it first, or set DATA_DIR to another folder.`
}

/** Reads which process holds the lock. Retries while the file still names a process that has died. */
async function readHolder(path: string): Promise<Holder | undefined> {
  for (let tries = 0; tries < 50; tries++) {
    const holder = await readFile(path, 'utf8')
      .then((text) => JSON.parse(text) as Holder)
      .catch(() => undefined)
    if (holder && isAlive(holder.pid)) return holder
    await delay(20)
  }
  return undefined
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
