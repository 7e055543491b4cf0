/** Inspects the machine's processes, for tests that check which processes have ended. */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { until } from './until.ts'

export const isRoot = process.getuid?.() === 0

/** Returns every process that has the folder as its working directory or names it in its command line. */
export async function processesOn(folder: string): Promise<number[]> {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    if (command.includes(folder) || cwd.startsWith(folder)) found.push(Number(pid))
  }
  return found
}

/** Resolves when no process uses the folder. */
export function nobodyLeft(folder: string): Promise<true> {
  return until(`no process is left on ${folder}`, async () =>
    (await processesOn(folder)).length === 0 ? true : undefined,
  )
}

/** Returns the pids of a process's children. */
export async function childrenOf(parent: number): Promise<number[]> {
  const text = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return text
    .split(' ')
    .filter((pid) => pid !== '')
    .map(Number)
}
