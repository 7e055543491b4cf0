/** What a process costs: its memory and its time on the processor. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Resident memory in MB (10^6 bytes). */
export function residentMb(pid: number): number {
  const kib = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }))
  return (kib * 1024) / 1e6
}

/** Seconds on the processor since its start; not a number where the system has no /proc. */
export function cpuSeconds(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Behind the name, which may hold blanks: utime and stime are the 14th and 15th, in 1/100 s.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}

/** Long enough for V8 to give back what it no longer needs. */
const REST_MS = 60_000
/** Of a processor, what a service takes that nobody uses. */
const IDLE_SHARE = 0.03

/** Waits until the process has had a minute with next to nothing to do. */
export async function untilAtRest(pid: number): Promise<void> {
  for (let isBusy = true; isBusy; ) {
    const before = cpuSeconds(pid)
    await delay(REST_MS)
    isBusy = cpuSeconds(pid) - before > (IDLE_SHARE * REST_MS) / 1000
  }
}

const LOOK_EVERY_MS = 100

/** The largest resident memory while a work runs, in MB. */
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
