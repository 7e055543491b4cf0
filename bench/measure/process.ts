/** The memory and the CPU time of a process. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Returns the resident memory in MB (10^6 bytes). */
export function residentMb(pid: number): number {
  const kib = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }))
  return (kib * 1024) / 1e6
}

/** Returns the CPU seconds since the process started, or NaN if the system has no /proc. */
export function cpuSeconds(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The fields after the name, which may contain blanks: utime and stime are the 14th and 15th, in 1/100 s.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}

/** The time in which V8 releases unused memory. */
const REST_MS = 60_000
/** The maximum share of a processor that an idle service uses. */
const IDLE_SHARE = 0.03

/** Waits until the process has been almost idle for a minute. */
export async function untilAtRest(pid: number): Promise<void> {
  for (let isBusy = true; isBusy; ) {
    const before = cpuSeconds(pid)
    await delay(REST_MS)
    isBusy = cpuSeconds(pid) - before > (IDLE_SHARE * REST_MS) / 1000
  }
}

const LOOK_EVERY_MS = 100

/** Returns the largest resident memory while the work runs, in MB. */
export async function peakMb(pid: number, work: () => Promise<unknown>): Promise<number> {
  let peak = residentMb(pid)
  const looking = setInterval(() => {
    peak = Math.max(peak, residentMb(pid))
  }, LOOK_EVERY_MS)
  try {
    await work()
  } finally {
    clearInterval(looking)
  }
  return peak
}
