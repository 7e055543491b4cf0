/**
 * Shares out turns at work of which only so much may run at once: those who wait are served round
 * robin, one piece of each party, so that nobody's queue delays anybody else by more than one piece.
 */
import { Problem } from '../../lib/problems.ts'

export interface TurnLimits {
  /** Pieces of work that run side by side. */
  atOnce: number
  /** Pieces that may wait, of one party. */
  waitingOfOne: number
  /** Pieces that may wait in all; a party that has none waiting is let in beyond it. */
  waiting: number
}

/** @throws Problem 503 when too many of the party, or of all, are waiting */
export type FairTurns = <T>(party: string, work: () => Promise<T>) => Promise<T>

export function fairTurns({ atOnce, waitingOfOne, waiting }: TurnLimits): FairTurns {
  let running = 0
  let queued = 0
  /** In the order of the turns: whoever was served and still waits goes to the end. */
  const queues = new Map<string, (() => void)[]>()

  function wait(party: string): Promise<void> {
    const queue = queues.get(party) ?? []
    if (queue.length >= waitingOfOne || (queued >= waiting && queue.length > 0))
      throw new Problem('overloaded', { retryAfter: 2 })
    queued += 1
    queues.set(party, queue)
    return new Promise((resolve) => queue.push(resolve))
  }

  function next(): void {
    const [first] = queues
    if (!first) {
      running -= 1
      return
    }
    const [party, queue] = first
    queues.delete(party)
    queued -= 1
    const start = queue.shift()
    if (queue.length > 0) queues.set(party, queue)
    start?.()
  }

  return async (party, work) => {
    if (running < atOnce) running += 1
    else await wait(party)
    try {
      return await work()
    } finally {
      next()
    }
  }
}
