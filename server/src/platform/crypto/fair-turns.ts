/**
 * Shares out turns at work of which only so much may run at once: those who wait are served round
 * robin, one piece of each party, so that nobody's queue delays anybody else by more than one piece. And
 * nobody runs on all turns while others come: who comes next finds one free, and a processor for it.
 */
import { performance } from 'node:perf_hooks'
import { SECOND } from '../../lib/clock.ts'
import { Problem } from '../../lib/problems.ts'

/** Who has come within this time is thought to come again. */
const COMPANY_MS = 10 * SECOND

export interface TurnLimits {
  /** Pieces of work that run side by side. */
  atOnce: number
  /** Pieces that may wait, of one party. */
  waitingOfOne: number
  /** Pieces that may wait in all; a party that has none waiting is let in beyond it. */
  waiting: number
  /** Milliseconds that only grow; the process's own by default. */
  now?: () => number
}

/** @throws Problem 503 when too many of the party, or of all, are waiting */
export type FairTurns = <T>(party: string, work: () => Promise<T>) => Promise<T>

export function fairTurns(limits: TurnLimits): FairTurns {
  const { atOnce, waitingOfOne, waiting, now = () => performance.now() } = limits
  const company = companyWithin(COMPANY_MS, now)
  const running = new Map<string, number>()
  let runningInAll = 0
  let queued = 0
  /** In the order of the turns: whoever was served and still waits goes to the end. */
  const queues = new Map<string, (() => void)[]>()

  function mayRun(party: string): boolean {
    const ofOne = company.has(party) ? Math.max(1, atOnce - 1) : atOnce
    return runningInAll < atOnce && (running.get(party) ?? 0) < ofOne
  }

  function begin(party: string): void {
    runningInAll += 1
    running.set(party, (running.get(party) ?? 0) + 1)
  }

  function end(party: string): void {
    runningInAll -= 1
    const left = (running.get(party) ?? 0) - 1
    if (left > 0) running.set(party, left)
    else running.delete(party)
  }

  function wait(party: string): Promise<void> {
    const queue = queues.get(party) ?? []
    if (queue.length >= waitingOfOne || (queued >= waiting && queue.length > 0))
      throw new Problem('overloaded', { retryAfter: 2 })
    queued += 1
    queues.set(party, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  /** Starts those who wait and may run by now, the first piece of each by turns. */
  function serve(): void {
    for (const [party, queue] of queues) {
      if (!mayRun(party)) continue
      queues.delete(party)
      queued -= 1
      const start = queue.shift()
      // At the end, where this walk comes by again.
      if (queue.length > 0) queues.set(party, queue)
      begin(party)
      start?.()
    }
  }

  return async (party, work) => {
    company.saw(party)
    if (mayRun(party) && !queues.has(party)) begin(party)
    else {
      const turn = wait(party)
      serve()
      await turn
    }
    try {
      return await work()
    } finally {
      end(party)
      serve()
    }
  }
}

/** Who came last, and last of all others: enough to tell whether anybody has come beside one party. */
function companyWithin(ms: number, now: () => number) {
  let last = { party: '', at: Number.NEGATIVE_INFINITY }
  let other = last
  return {
    saw(party: string): void {
      if (party !== last.party) other = last
      last = { party, at: now() }
    },
    /** Whether another party has come lately. */
    has(party: string): boolean {
      const { at } = party === last.party ? other : last
      return now() - at < ms
    },
  }
}
