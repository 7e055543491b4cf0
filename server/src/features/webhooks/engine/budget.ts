/**
 * How many messages a process has under way, and whose turn is next. What takes longer than a moment
 * counts apart: receivers that do not answer fill a room of their own and never that of the others.
 */
import type { Time } from '../../../lib/time.ts'
import type { Queue } from './queue.ts'
import type { Tuning } from './tuning.ts'

export interface Budget {
  hasRoom(): boolean
  /** Notes that the queue has begun a message; returns what to call at its end. */
  begin(queue: Queue): () => void
  /** Counts what has been under way for long as slow. Returns whether this made room. */
  classify(): boolean
  /** Of queues that may send, the one whose tenant has the fewest messages under way. */
  next(queues: Iterable<Queue>): Queue | undefined
  /** Whether something of the queue has been under way for long. */
  isSlow(queue: Queue): boolean
}

interface Running {
  queue: Queue
  since: number
  isSlow: boolean
}

export function openBudget(
  limits: Pick<Tuning, 'quick' | 'slow' | 'slowAfterMs'>,
  clock: Pick<Time, 'monotonic'>,
): Budget {
  // In the order of their beginning.
  const running = new Set<Running>()
  const byTenant = new Map<number, number>()
  const slowOf = new Map<Queue, number>()
  let slow = 0

  const count = <K>(counts: Map<K, number>, key: K, change: 1 | -1) => {
    const value = (counts.get(key) ?? 0) + change
    if (value === 0) counts.delete(key)
    else counts.set(key, value)
  }

  return {
    hasRoom: () => running.size - slow < limits.quick,
    begin(queue) {
      const entry: Running = { queue, since: clock.monotonic(), isSlow: false }
      running.add(entry)
      count(byTenant, queue.tenantId, 1)
      return () => {
        running.delete(entry)
        count(byTenant, queue.tenantId, -1)
        if (!entry.isSlow) return
        slow -= 1
        count(slowOf, queue, -1)
      }
    },
    classify() {
      const before = slow
      const since = clock.monotonic() - limits.slowAfterMs
      for (const entry of running) {
        if (entry.since > since || slow >= limits.slow) break
        if (entry.isSlow) continue
        entry.isSlow = true
        slow += 1
        count(slowOf, entry.queue, 1)
      }
      return slow > before
    },
    next(queues) {
      let best: Queue | undefined
      let least = Number.POSITIVE_INFINITY
      for (const queue of queues) {
        const busy = byTenant.get(queue.tenantId) ?? 0
        if (busy >= least) continue
        best = queue
        least = busy
      }
      return best
    },
    isSlow: (queue) => slowOf.has(queue),
  }
}
