/** Stops a server that an earlier service has left running. Makes the pid file of a server that died harmless. */
import { execFile, execFileSync } from 'node:child_process'
import { constants, open, readFile, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { StartupError } from '../../lib/startup-error.ts'
import type { Binaries } from './binaries.ts'
import type { DataFolder } from './folder.ts'
import type { EmbeddedLog } from './log.ts'

const PATIENCE = 60_000
const IMMEDIATE_AFTER = 30_000
// This pid is higher than the maximum on any system, so PostgreSQL considers the process dead.
const NO_PROCESS = '99999999'

/** Ensures that no server runs on the folder, and that no pid file prevents a start. */
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
    // pg_ctl sends signals through the server's named pipe, so it does not signal another process with a reused pid.
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
 * Replaces the pid, because PostgreSQL does not start if another process has it. Keeps the file for the shared memory
 * id, with which PostgreSQL detects remaining processes of a dead server.
 */
async function disarm(pidFile: string): Promise<void> {
  const left = await readFile(pidFile, 'utf8').catch(() => undefined)
  if (left === undefined) return
  // Does not follow links, which the owner of the folder could place while the service writes as root.
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
  log.warn({ pid }, 'leftover PostgreSQL server is being stopped')
  const start = Date.now()
  send(pid, 'SIGINT', folder)
  let hurried = false
  while (await isServerOf(pid, folder.pgdata)) {
    const waited = Date.now() - start
    if (waited > PATIENCE) {
      throw new StartupError(
        `A leftover PostgreSQL server (process ${pid}) is running on ${folder.pgdata} and does not stop. End that process, then start again.`,
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
      `A PostgreSQL server of another account (process ${pid}) is running on ${folder.pgdata}. End that process, or start Wardkeep as that account.`,
    )
  }
}

/** Returns whether the process is the cluster's postmaster (by its working folder) and not one with a reused pid. */
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
