/** Combines concurrent writes, so that many callers share one transaction. */
import type { Time } from './time.ts'
import { within } from './within.ts'

/**
 * Handles a failed write: `retry` repeats it after `retryMs`, `split` writes both halves separately (so that one
 * rejected item does not block the others; a single item is dropped), `drop` rejects the callers' promises.
 */
export type BatchVerdict = 'retry' | 'split' | 'drop'

export interface BatcherOptions<T> {
  clock: Pick<Time, 'after' | 'delay'>
  /** The maximum number of items in one write. By default there is no limit. */
  maxItems?: number
  /** The maximum sum of `sizeOf` in one write. By default there is no limit. A single item may be larger. */
  maxSize?: number
  sizeOf?(item: T): number
  /** Milliseconds between the end of a write and the start of the next one. The default is 0. */
  minGapMs?: number
  /** Milliseconds before a batch is retried. The default is 500. */
  retryMs?: number
  /** Handles the error of a failed write. If the handler throws, the batch is dropped. */
  onError(error: unknown, items: readonly T[]): BatchVerdict
}

export interface Batcher<T> {
  /**
   * Queues the item, unless it is queued already. Items added during a write are written together. The promise resolves
   * once the item is written, and rejects if it is dropped or the batcher has stopped. Callers may ignore it.
   */
  add(item: T): Promise<void>
  /** Resolves when no item is being written or queued. */
  idle(): Promise<void>
  /** Writes the queued items without gaps for up to `patienceMs`. The promises of the remaining items stay pending. */
  stop(patienceMs: number): Promise<void>
}

type Entry<T> = { item: T } & PromiseWithResolvers<void>

const turn = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** Returns a rejected promise that causes no unhandled rejection if nobody awaits it. */
function refused(): Promise<void> {
  const refusal = Promise.reject(new Error('batcher stopped'))
  refusal.catch(() => undefined)
  return refusal
}

/** @param write writes the items in the order in which they were added. Calls never overlap. */
export function batcher<T>(
  write: (items: readonly T[]) => Promise<void>,
  options: BatcherOptions<T>,
): Batcher<T> {
  const { maxItems = Number.POSITIVE_INFINITY, maxSize = Number.POSITIVE_INFINITY } = options
  const { clock, sizeOf = () => 0, minGapMs = 0, retryMs = 500, onError } = options
  const waiting = new Map<T, Entry<T>>()
  let running: Promise<void> | undefined
  let isStopping = false
  let isOver = false
  let endGap = (): void => undefined

  const gap = () =>
    new Promise<void>((resolve) => {
      const cancel = clock.after(minGapMs, resolve)
      endGap = () => {
        cancel()
        resolve()
      }
    })

  function verdictOn(error: unknown, items: readonly T[]): BatchVerdict {
    try {
      return onError(error, items)
    } catch {
      // Drops the batch. The callers get the error of the write, because that is the cause.
      return 'drop'
    }
  }

  async function settle(batch: readonly Entry<T>[]): Promise<void> {
    const items = batch.map(({ item }) => item)
    while (!isOver) {
      try {
        await write(items)
        for (const { resolve } of batch) resolve()
        return
      } catch (error) {
        const verdict = verdictOn(error, items)
        if (verdict === 'retry') await clock.delay(retryMs)
        else if (verdict === 'split' && batch.length > 1) {
          const middle = batch.length >> 1
          await settle(batch.slice(0, middle))
          return settle(batch.slice(middle))
        } else {
          for (const { reject } of batch) reject(error)
          return
        }
      }
    }
  }

  function next(): Entry<T>[] {
    const batch: Entry<T>[] = []
    let size = 0
    for (const entry of waiting.values()) {
      size += sizeOf(entry.item)
      if (batch.length > 0 && (batch.length >= maxItems || size > maxSize)) break
      batch.push(entry)
      waiting.delete(entry.item)
    }
    return batch
  }

  async function run(): Promise<void> {
    try {
      // Waits one turn, so that items added in the same turn share a batch.
      await turn()
      while (waiting.size > 0 && !isOver) {
        const batch = next()
        await settle(batch)
        if (waiting.size > 0 && minGapMs > 0 && !isStopping) await gap()
      }
    } finally {
      running = undefined
    }
  }

  return {
    add(item) {
      if (isOver) return refused()
      const known = waiting.get(item)
      if (known) return known.promise
      const entry: Entry<T> = { item, ...Promise.withResolvers<void>() }
      // Prevents an unhandled rejection. Callers that await the promise still get the error.
      entry.promise.catch(() => undefined)
      waiting.set(item, entry)
      running ??= run()
      return entry.promise
    },
    async idle() {
      for (let run = running; run !== undefined; run = running) await run
    },
    async stop(patienceMs) {
      isStopping = true
      endGap()
      await within(clock, patienceMs, running ?? Promise.resolve())
      isOver = true
    },
  }
}
