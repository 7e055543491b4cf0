/** What is gathered: written together, in order, each once; and what becomes of what cannot be. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { gate } from '../../test/sessions/scopes.ts'
import { type BatcherOptions, batcher, type Verdict } from './batcher.ts'
import { systemTime } from './time.ts'

const PATIENCE = { timeout: 20_000 }

/** Collects batches; what is written waits for `hold`, and fails where `refuse` says so. */
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

/** Counts a refusal down: so many times, then never again. */
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

test('what is added in one turn of the event loop is one batch, in its order', async () => {
  const { batches, written } = gathering()
  await Promise.all(['a', 'b', 'c'].map(batches.add))
  expect(written).toEqual([['a', 'b', 'c']])
})

test('a batch is no larger than the limits allow, but for a single item', async () => {
  const { batches, written } = gathering({ maxItems: 3, maxSize: 5, sizeOf: (item) => item.length })
  await Promise.all(['aa', 'bbb', 'c', 'much too long', 'd', 'e', 'f', 'g'].map(batches.add))
  expect(written).toEqual([['aa', 'bbb'], ['c'], ['much too long'], ['d', 'e', 'f'], ['g']])
})

test('what is added while a batch is written waits for the next one', async () => {
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

test('an item that waits is written once, and again when it comes back later', async () => {
  const { batches, written } = gathering()
  await Promise.all(['a', 'b', 'a'].map(batches.add))
  await batches.add('a')
  expect(written).toEqual([['a', 'b'], ['a']])
})

test('a batch has no more items than it may have', async () => {
  const { batches, written } = gathering({ maxItems: 2 })
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map(batches.add))
  expect(written).toEqual([['a', 'b'], ['c', 'd'], ['e']])
})

test('between two batches lies the gap', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate'] })
  const { batches, written } = gathering({ maxItems: 1, minGapMs: 100 })
  for (const item of ['a', 'b']) void batches.add(item)
  await vi.advanceTimersByTimeAsync(99)
  expect(written).toEqual([['a']])
  await vi.advanceTimersByTimeAsync(2)
  expect(written).toEqual([['a'], ['b']])
})

describe('a batch that cannot be written', () => {
  test('is dropped, and those who wait for it hear why; what comes later is written', async () => {
    const { batches, written } = gathering({ refuse: times(1) })
    const results = await Promise.allSettled(['a', 'b'].map(batches.add))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await batches.add('c')
    expect(written).toEqual([['c']])
  })

  test('is no unhandled rejection where nobody waits for it', async () => {
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

  test('is dropped where nobody can say what becomes of it, and what comes later is written', async () => {
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

  test('is tried again as it was, for as long as it takes, and before what came later', async () => {
    const { batches, written } = gathering({ refuse: times(3), retryMs: 1, onError: () => 'retry' })
    const adding = ['a', 'b'].map(batches.add)
    setImmediate(() => void batches.add('c'))
    await Promise.all(adding)
    await batches.add('d')
    expect(written[0]).toEqual(['a', 'b'])
    expect(written.flat()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('is split, so that all but what is refused by itself is written, in order', async () => {
    const tried: number[] = []
    const { batches, written } = gathering({
      refuse: (items) => (items.includes('bad') ? new Error('refused') : undefined),
      onError(_error, items): Verdict {
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

describe('a stop', () => {
  test('waits until all is written, and leaves out the gaps', async () => {
    const { batches, written } = gathering({ maxItems: 1, minGapMs: 3_600_000 })
    for (const item of ['a', 'b', 'c']) void batches.add(item)
    await batches.stop(20_000)
    expect(written).toEqual([['a'], ['b'], ['c']])
  })

  test('ends a gap that has begun, and nothing is taken after it', async () => {
    const { batches, written } = gathering({ maxItems: 1, minGapMs: 3_600_000 })
    const first = batches.add('a')
    const second = batches.add('b')
    await first
    // By the next turn the gap has begun.
    await new Promise(setImmediate)
    expect(written).toEqual([['a']])
    await batches.stop(3_600_000)
    await second
    expect(written).toEqual([['a'], ['b']])
    await expect(batches.add('c')).rejects.toThrow('nothing more is taken')
    expect(written).toHaveLength(2)
  })

  test('gives up what cannot be written in its time, and leaves it open', async () => {
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

  test('of one that has nothing to do ends at once', async () => {
    await gathering().batches.stop(3_600_000)
  })
})

test('is idle when nothing is being written and nothing waits', async () => {
  const { batches, written } = gathering({ maxItems: 1 })
  await batches.idle()
  for (const item of ['a', 'b', 'c']) void batches.add(item)
  await batches.idle()
  expect(written).toEqual([['a'], ['b'], ['c']])
})
