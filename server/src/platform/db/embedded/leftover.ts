/** Ends a server that an earlier service has left on the folder, and clears the traces of one that died. */
import { execFile, execFileSync } from 'node:child_process'
import { constants, open, readFile, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Binaries } from './binaries.ts'
import type { DataFolder } from './folder.ts'
import type { EmbeddedLog } from './log.ts'

const PATIENCE = 60_000
const IMMEDIATE_AFTER = 30_000
// Above every system's highest pid, so that PostgreSQL finds it dead.
const NO_PROCESS = '99999999'

/** When this resolves, no server runs on the folder and none is thought to. */
export async function settleLeftover({
  folder,
  binaries,
  log,
  signal,
}: {
  folder: DataFolder
  binaries: Binaries
  log: EmbeddedLog
  signal: AbortSignal
}): Promise<void> {
  const pidFile = join(folder.pgdata, 'postmaster.pid')
  const content = await readFile(pidFile, 'utf8').catch(() => undefined)
  if (content === undefined) return
  if (process.platform === 'win32') {
    // pg_ctl talks to the server's own named pipe: a reused pid can't mislead it.
    await promisify(execFile)(binaries.pgCtl, [
      'stop',
      '-D',
      folder.pgdata,
      '-m',
      'fast',
      '-w',
    ]).catch(() => undefined)
    return
  }
  const pid = Number.parseInt(content, 10)
  if (await isServerOf(pid, folder.pgdata)) await end(pid, folder, log, signal)
  await disarm(pidFile)
}

/**
 * A reused pid in the file would keep PostgreSQL from starting. The file itself stays: it names the
 * shared memory by which PostgreSQL knows that processes of the dead server still run.
 */
async function disarm(pidFile: string): Promise<void> {
  const left = await readFile(pidFile, 'utf8').catch(() => undefined)
  if (left === undefined) return
  // Root writes in another account's folder here: never through a link that it may have put there.
  const file = await open(pidFile, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW)
  try {
    await file.writeFile(left.replace(/^.*/, NO_PROCESS))
  } finally {
    await file.close()
  }
}

async function end(
  pid: number,
  folder: DataFolder,
  log: EmbeddedLog,
  signal: AbortSignal,
): Promise<void> {
  log.warn({ pid }, 'stopping the PostgreSQL server left over on the data folder')
  const start = Date.now()
  send(pid, 'SIGINT', folder)
  let hurried = false
  while (await isServerOf(pid, folder.pgdata)) {
    const waited = Date.now() - start
    if (waited > PATIENCE) {
      throw new StartupError(
        `A PostgreSQL server (process ${pid}) is left over on ${folder.pgdata} and does not stop: end it, then start again.`,
      )
    }
    if (waited > IMMEDIATE_AFTER && !hurried) {
      hurried = true
      send(pid, 'SIGQUIT', folder)
    }
    await delay(10, undefined, { signal })
  }
}

function send(pid: number, name: 'SIGINT' | 'SIGQUIT', folder: DataFolder): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return
    throw new StartupError(
      `A PostgreSQL server of another account (process ${pid}) runs on ${folder.pgdata}: end it, or start Wardkeep as that account.`,
    )
  }
}

/** A postmaster's working folder is its cluster, which a process with a reused pid doesn't share. */
async function isServerOf(pid: number, pgdata: string): Promise<boolean> {
  if (!(pid > 0)) return false
  if (process.platform === 'linux') {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
    return cwd !== undefined && cwd === (await realpath(pgdata))
  }
  try {
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
    }).includes(`-D ${pgdata} `)
  } catch {
    return false
  }
}
