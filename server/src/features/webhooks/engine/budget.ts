/**
 * Limits how many messages a process sends concurrently, and picks the queue that sends next. Messages that take longer
 * than `slowAfterMs` have a separate limit, so unresponsive receivers do not block the others.
 */
import type { Time } from '../../../lib/time.ts'
import type { Queue } from './queue.ts'
import type { Tuning } from './tuning.ts'

export interface SendBudget {
  hasRoom(): boolean
  /** Counts a message that the queue has started to send. Returns a function to call when the attempt ends. */
  begin(queue: Queue): () => void
  /** Counts messages that take too long as slow. Returns whether this made room for more messages. */
  classify(): boolean
  /** Returns the queue whose tenant has the fewest messages in flight. */
  next(queues: Iterable<Queue>): Queue | undefined
  /** Returns whether a message of the queue counts as slow. */
  isSlow(queue: Queue): boolean
}

interface Running {
  queue: Queue
  since: number
  isSlow: boolean
}

export function openSendBudget(
  limits: Pick<Tuning, 'quick' | 'slow' | 'slowAfterMs'>,
  clock: Pick<Time, 'monotonic'>,
): SendBudget {
  // Messages in flight, in the order in which they were started.
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
