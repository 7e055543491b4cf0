/** Gathers what is to be written, so that many who write at the same time share one transaction. */
import type { Time } from './time.ts'
import { within } from './within.ts'

/**
 * What becomes of a batch that could not be written. `retry`: the same items again after `retryMs`.
 * `split`: its halves by themselves, down to single items, so that one which is refused keeps no
 * other from being written; of a single item it means `drop`. `drop`: those who added them get the error.
 */
export type Verdict = 'retry' | 'split' | 'drop'

export interface BatcherOptions<T> {
  clock: Pick<Time, 'after' | 'delay'>
  /** Items written together at the most; no limit by default. */
  maxItems?: number
  /** The sum of `sizeOf` of what is written together; one item may be larger. No limit by default. */
  maxSize?: number
  sizeOf?(item: T): number
  /** Milliseconds between the end of a write and the next one's beginning; none by default. */
  minGapMs?: number
  /** Milliseconds before a batch is tried again; 500 by default. */
  retryMs?: number
  /** Called with what a write has thrown; where it throws itself, it has said `drop`. */
  onError(error: unknown, items: readonly T[]): Verdict
}

export interface Batcher<T> {
  /**
   * Has the item written, together with what else is added while a write is under way. An item that
   * waits already is written once. Resolves when it is written, rejects when it was dropped; a
   * caller that need not know leaves the promise alone. Rejects also once a stop is over.
   */
  add(item: T): Promise<void>
  /** Resolves when nothing is being written and nothing waits. */
  idle(): Promise<void>
  /**
   * Writes what waits, without gaps, for up to `patienceMs`, and begins nothing after that: what
   * waits still is not written, and its promise stays open.
   */
  stop(patienceMs: number): Promise<void>
}

type Entry<T> = { item: T } & PromiseWithResolvers<void>

const turn = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** As of an entry: no unhandled rejection where nobody waits. */
function refused(): Promise<void> {
  const refusal = Promise.reject(new Error('nothing more is taken, as it has stopped'))
  refusal.catch(() => undefined)
  return refusal
}

/** @param write writes the items, in the order in which they came; one call at a time */
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

  function verdictOn(error: unknown, items: readonly T[]): Verdict {
    try {
      return onError(error, items)
    } catch {
      // Whoever added them hears what the write threw, which is why they are not written.
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
      // What is added in the same turn of the event loop goes together.
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
      // Whoever awaits it gets the error all the same.
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
