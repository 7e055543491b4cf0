/**
 * Keeps a data folder to one service. The lock is one the kernel holds (SQLite's, the only file lock
 * Node has): it ends with its process whatever kills it, so there is no stale lock and no reused pid
 * to be misled by, and of any number that start at once exactly one gets it.
 */
import { access, chmod, constants, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { StartupError } from '../../../lib/startup-error.ts'

/** Another process has the folder. */
export class FolderTaken extends StartupError {}

/** The right to the folder. */
export interface Ownership {
  release(): Promise<void>
}

interface Holder {
  readonly pid: number
  readonly since: string
  readonly program: string
}

const SQLITE_BUSY = 5

/** Takes the folder, or refuses with the name of the process that has it. */
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

/** Never opens the file itself: closing a second descriptor would drop this process's lock (POSIX). */
async function tryLock(path: string): Promise<DatabaseSync | undefined> {
  await access(path, constants.R_OK | constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Nothing is ever written: no journal beside the file, and no disk space to run out of.
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
    : 'a process that has not said its name yet'
  return `Another Wardkeep (${name}) is running on the data folder ${folder}: stop it first, or give this one a DATA_DIR of its own.`
}

/** The winner writes its name a moment after it has the lock; until then the file may name a dead one. */
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
