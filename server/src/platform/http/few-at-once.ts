/**
 * Lets a caller have few operations of a kind under way at once; the others wait for their turn, for a
 * little while. Counted by each node for itself.
 */
import { Problem } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'

const AT_ONCE = 2
const MAX_WAITING = 100
const PATIENCE_MS = 5_000

export interface FewAtOnce {
  /** Runs `work` when it is the turn of `key`. @throws Problem 429 where too many wait, or too long */
  run<T>(key: number, work: () => T | Promise<T>): Promise<T>
}

interface Waiting {
  since: number
  go(): void
  giveUp(refusal: Problem): void
}

/** @param what of which a caller has few under way, as the refusal names it */
export function fewAtOnce(what: string, clock: Pick<Time, 'monotonic'>): FewAtOnce {
  const queues = new Map<number, { running: number; waiting: Waiting[] }>()

  /** Passes when there is room for one more of `key`, which counts as running from then on. */
  function turnOf(key: number): Promise<void> | undefined {
    const queue = queues.get(key) ?? { running: 0, waiting: [] }
    queues.set(key, queue)
    if (queue.running < AT_ONCE) {
      queue.running += 1
      return undefined
    }
    if (queue.waiting.length >= MAX_WAITING) throw tooMany(what)
    return new Promise((go, giveUp) => queue.waiting.push({ since: clock.monotonic(), go, giveUp }))
  }

  /** Hands the room of one that has ended to the next, past those who have waited for too long. */
  function pass(key: number): void {
    const queue = queues.get(key)
    if (!queue) return
    for (let next = queue.waiting.shift(); next; next = queue.waiting.shift()) {
      if (clock.monotonic() - next.since <= PATIENCE_MS) {
        next.go()
        return
      }
      next.giveUp(tooMany(what))
    }
    queue.running -= 1
    if (queue.running === 0) queues.delete(key)
  }

  return {
    async run(key, work) {
      await turnOf(key)
      try {
        return await work()
      } finally {
        pass(key)
      }
    },
  }
}

function tooMany(what: string): Problem {
  return new Problem('too_many_requests', {
    detail: `You have more than ${AT_ONCE} ${what} under way; wait for their answers`,
    retryAfter: 1,
  })
}
