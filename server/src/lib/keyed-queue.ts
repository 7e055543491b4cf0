/** Limits how many tasks of one key run at a time. The others wait for their turn in order. */
import { Problem } from './problems.ts'
import type { Time } from './time.ts'

export interface KeyedQueueOptions {
  /** The maximum number of tasks of one key that run at a time. */
  perKey: number
  /** The maximum number of tasks of one key that wait. The default is 256. */
  maxWaiting?: number
  /** The longest wait. A task is refused after it at its turn, because its caller has probably given up. */
  patience?: { ms: number; clock: Pick<Time, 'monotonic'> }
  /** Returns the problem with which a task is refused. The default is `overloaded`. */
  refusal?(): Problem
}

export interface KeyedQueue<K> {
  /** Runs the work now or at its turn. @throws the refusal if too many tasks wait, or the wait was too long */
  run<T>(key: K, work: () => T | Promise<T>): Promise<T>
  isFull(key: K): boolean
}

interface Waiting {
  isLate(): boolean
  start(): void
  refuse(reason: Error): void
}

const overloaded = () => new Problem('overloaded', { retryAfter: 2 })

export function keyedQueue<K>(options: KeyedQueueOptions): KeyedQueue<K> {
  const { perKey, maxWaiting = 256, patience, refusal = overloaded } = options
  const queues = new Map<K, { running: number; waiting: Waiting[] }>()

  /** Takes a free slot and returns undefined. If none is free, returns a promise that resolves at the task's turn. */
  function turnOf(key: K): Promise<void> | undefined {
    const queue = queues.get(key) ?? { running: 0, waiting: [] }
    queues.set(key, queue)
    if (queue.running < perKey) {
      queue.running += 1
      return undefined
    }
    if (queue.waiting.length >= maxWaiting) throw refusal()
    const isLate = lateness()
    return new Promise((start, refuse) => queue.waiting.push({ isLate, start, refuse }))
  }

  function lateness(): () => boolean {
    if (!patience) return () => false
    const { ms, clock } = patience
    const since = clock.monotonic()
    return () => clock.monotonic() - since > ms
  }

  /** Hands the slot of a finished task to the next task that has not waited too long. */
  function pass(key: K): void {
    const queue = queues.get(key)
    if (!queue) return
    for (let next = queue.waiting.shift(); next; next = queue.waiting.shift()) {
      if (!next.isLate()) {
        next.start()
        return
      }
      next.refuse(refusal())
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
    isFull: (key) => (queues.get(key)?.running ?? 0) >= perKey,
  }
}
