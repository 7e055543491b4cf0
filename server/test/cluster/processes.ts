/** Starts, freezes and ends the programs of the cluster, as an account that PostgreSQL accepts. */
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { readFile, readlink } from 'node:fs/promises'
import path from 'node:path'

/** An account of the machine. */
export interface Account {
  uid: number
  gid: number
}

/**
 * Returns the account `postgres` if root runs the harness, because PostgreSQL refuses to run as root. Undefined means
 * the current account.
 */
export function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Creates a folder that the account owns. */
export function makeFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (account) chownSync(folder, account.uid, account.gid)
}

/** A running program. */
export interface RunningProgram {
  readonly pid: number
  readonly ended: Promise<number | null>
  signal(name: NodeJS.Signals): void
}

/** Options to start a program. */
export interface StartOptions {
  account?: Account | undefined
  cwd: string
  env?: NodeJS.ProcessEnv
  /** The file that receives its output, without `.log`. */
  log: string
}

/** Starts a program with its output in a log file. */
export function startProgram(
  file: string,
  args: readonly string[],
  { account, cwd, env, log }: StartOptions,
): RunningProgram {
  const output = openSync(`${path.join(cwd, log)}.log`, 'a')
  const child = spawn(file, args, {
    cwd,
    env: { PATH: process.env.PATH, LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', output, output],
    detached: true,
    ...account,
  })
  closeSync(output)
  const { pid } = child
  if (pid === undefined) throw new Error(`${file} did not start`)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { pid, ended, signal: (name) => signalProcess(pid, name) }
}

/** Returns the process ID of the postmaster that uses a data folder; undefined if there is none. */
export async function postmasterOf(dataFolder: string): Promise<number | undefined> {
  const text = await readFile(path.join(dataFolder, 'postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  // A killed server leaves its PID file, and another process may have got its number.
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  return cwd === dataFolder ? pid : undefined
}

/** Sends a signal. Ignores a process that has ended. */
export function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
