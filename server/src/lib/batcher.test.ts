/** Tests that batches are written one after the other, and that `onError` decides what happens after a failed write. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { gate } from '../../test/sessions/scopes.ts'
import { type BatcherOptions, type BatchVerdict, batcher } from './batcher.ts'
import { systemTime } from './time.ts'

const PATIENCE = { timeout: 20_000 }

/**
 * Creates a batcher, and collects the batches that it writes. A write waits for `hold`, and fails if `refuse` returns
 * an error.
 */
function gathering(
  options: Partial<BatcherOptions<string>> & {
    refuse?: (items: readonly string[]) => unknown
  } = {},
) {
  const written: string[][] = []
  const { refuse, ...rest } = options
  const batches = batcher<string>(
    async (items) => {
      const error = refuse?.(items)
      if (error) throw error
      written.push([...items])
    },
    { clock: systemTime, onError: () => 'drop', ...rest },
  )
  return { batches, written }
}

/** Returns a `refuse` function that fails the first `count` writes. */
const times = (count: number) => {
  let left = count
  return () => {
    left -= 1
    return left >= 0 ? new Error('not now') : undefined
  }
}

afterEach(() => {
  vi.useRealTimers()
})

test('the batcher writes all items of one event-loop turn as one batch, in order', async () => {
  const { batches, written } = gathering()
  await Promise.all(['a', 'b', 'c'].map(batches.add))
  expect(written).toEqual([['a', 'b', 'c']])
})

test('the batcher limits the size of a batch, except for a single item over the limit', async () => {
  const { batches, written } = gathering({ maxItems: 3, maxSize: 5, sizeOf: (item) => item.length })
  await Promise.all(['aa', 'bbb', 'c', 'much too long', 'd', 'e', 'f', 'g'].map(batches.add))
  expect(written).toEqual([['aa', 'bbb'], ['c'], ['much too long'], ['d', 'e', 'f'], ['g']])
})

test('the batcher keeps items that are added during a write for the next batch', async () => {
  const first = gate()
  const written: string[][] = []
  const batches = batcher<string>(
    async (items) => {
      written.push([...items])
      if (items.includes('a')) await first.pass
    },
    { clock: systemTime, onError: () => 'drop' },
  )
  const adding = [batches.add('a')]
  await vi.waitUntil(() => written.length === 1, PATIENCE)
  for (const item of ['b', 'c']) adding.push(batches.add(item))
  first.open()
  await Promise.all(adding)
  expect(written).toEqual([['a'], ['b', 'c']])
})

test('the batcher writes a waiting item once even if it is added twice, and again if it is added later', async () => {
  const { batches, written } = gathering()
  await Promise.all(['a', 'b', 'a'].map(batches.add))
  await batches.add('a')
  expect(written).toEqual([['a', 'b'], ['a']])
})

test('the batcher limits the number of items in a batch', async () => {
  const { batches, written } = gathering({ maxItems: 2 })
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map(batches.add))
  expect(written).toEqual([['a', 'b'], ['c', 'd'], ['e']])
})

test('the batcher waits for the minimum pause between two batches', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate'] })
  const { batches, written } = gathering({ maxItems: 1, minGapMs: 100 })
  for (const item of ['a', 'b']) void batches.add(item)
  await vi.advanceTimersByTimeAsync(99)
  expect(written).toEqual([['a']])
  await vi.advanceTimersByTimeAsync(2)
  expect(written).toEqual([['a'], ['b']])
})

describe('a batch that cannot be written', () => {
  test('is dropped, its callers get the error, and later items are written', async () => {
    const { batches, written } = gathering({ refuse: times(1) })
    const results = await Promise.allSettled(['a', 'b'].map(batches.add))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await batches.add('c')
    expect(written).toEqual([['c']])
  })

  test('causes no unhandled rejection if nobody awaits it', async () => {
    const { batches, written } = gathering({ refuse: times(1) })
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    void batches.add('a')
    await vi.waitUntil(async () => {
      await batches.add('b').catch(() => undefined)
      return written.length > 0
    }, PATIENCE)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('is dropped if `onError` throws, and later items are written', async () => {
    const { batches, written } = gathering({
      refuse: times(1),
      onError() {
        throw new Error('the log is full')
      },
    })
    await expect(batches.add('a')).rejects.toThrow('not now')
    await batches.add('b')
    expect(written).toEqual([['b']])
  })

  test('is retried unchanged until it succeeds, before later items', async () => {
    const { batches, written } = gathering({ refuse: times(3), retryMs: 1, onError: () => 'retry' })
    const adding = ['a', 'b'].map(batches.add)
    setImmediate(() => void batches.add('c'))
    await Promise.all(adding)
    await batches.add('d')
    expect(written[0]).toEqual(['a', 'b'])
    expect(written.flat()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('is split until only the rejected item is left out, in order', async () => {
    const tried: number[] = []
    const { batches, written } = gathering({
      refuse: (items) => (items.includes('bad') ? new Error('refused') : undefined),
      onError(_error, items): BatchVerdict {
        tried.push(items.length)
        return 'split'
      },
    })
    const items = ['a', 'b', 'c', 'bad', 'e', 'f', 'g', 'h']
    const results = await Promise.allSettled(items.map(batches.add))
    expect(results.map(({ status }) => status === 'fulfilled')).toEqual(
      items.map((item) => item !== 'bad'),
    )
    expect(written.flat()).toEqual(items.filter((item) => item !== 'bad'))
    expect(tried).toEqual([8, 4, 2, 1])
  })
})

describe('stopping the batcher', () => {
  test('waits until everything is written, without pauses between batches', async () => {
    const { batches, written } = gathering({ maxItems: 1, minGapMs: 3_600_000 })
    for (const item of ['a', 'b', 'c']) void batches.add(item)
    await batches.stop(20_000)
    expect(written).toEqual([['a'], ['b'], ['c']])
  })

  test('ends the current pause early, and rejects items that are added afterwards', async () => {
    const { batches, written } = gathering({ maxItems: 1, minGapMs: 3_600_000 })
    const first = batches.add('a')
    const second = batches.add('b')
    await first
    // By the next turn of the event loop, the gap has begun.
    await new Promise(setImmediate)
    expect(written).toEqual([['a']])
    await batches.stop(3_600_000)
    await second
    expect(written).toEqual([['a'], ['b']])
    await expect(batches.add('c')).rejects.toThrow('batcher stopped')
    expect(written).toHaveLength(2)
  })

  test('ends after its time limit, and leaves the promises of unwritten items pending', async () => {
    const settled = vi.fn()
    const { batches, written } = gathering({
      refuse: () => new Error('the database is away'),
      retryMs: 1,
      onError: () => 'retry',
    })
    void batches.add('a').then(settled, settled)
    await batches.stop(5)
    expect(written).toEqual([])
    expect(settled).not.toHaveBeenCalled()
  })

  test('resolves immediately if no item waits', async () => {
    await gathering().batches.stop(3_600_000)
  })
})

test('the batcher is idle when no batch is being written and no item waits', async () => {
  const { batches, written } = gathering({ maxItems: 1 })
  await batches.idle()
  for (const item of ['a', 'b', 'c']) void batches.add(item)
  await batches.idle()
  expect(written).toEqual([['a'], ['b'], ['c']])
})
