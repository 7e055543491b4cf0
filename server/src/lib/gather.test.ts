/** Tests that lookups are combined, and that each key gets its own result. */
import { expect, test } from 'vitest'
import { gather } from './gather.ts'

/** Creates a lookup that doubles even numbers when the test lets it finish. Odd numbers are unknown. */
function scene(mayBeOfOne = false) {
  const asked: number[][] = []
  const going: (() => void)[] = []
  const broken = new Set<number>()
  const one = gather<number, number>(
    async (keys) => {
      asked.push([...keys])
      await new Promise<void>((resolve) => void going.push(resolve))
      for (const key of keys) if (broken.has(key)) throw new Error(`${key} is broken`)
      return new Map(keys.filter((key) => key % 2 === 0).map((key) => [key, 2 * key]))
    },
    { atOnce: 2, maxKeys: 3, mayBeOfOne: () => mayBeOfOne },
  )
  const turns = async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  /** Finishes lookups until none is pending. */
  const goOn = async () => {
    await turns()
    while (going.length > 0) {
      going.shift()?.()
      await turns()
    }
  }
  return { one, asked, broken, turns, goOn }
}

test('the gatherer looks up all keys of one event-loop turn together, each once, up to the limit', async () => {
  const { one, asked, goOn } = scene()
  const answers = Promise.all([2, 4, 4, 5, 6, 8].map(one))
  await goOn()
  expect(await answers).toEqual([4, 8, 8, undefined, 12, 16])
  expect(asked).toEqual([
    [2, 4, 5],
    [6, 8],
  ])
})

test('the gatherer collects keys while the maximum number of lookups runs, and looks them up together', async () => {
  const { one, asked, turns, goOn } = scene()
  const all = [one(2)]
  await turns()
  all.push(one(4))
  await turns()
  // Looks up 2 again. A result that was requested earlier must not be reused.
  all.push(one(6), one(2))
  await turns()
  expect(asked).toEqual([[2], [4]])
  await goOn()
  expect(asked).toEqual([[2], [4], [6, 2]])
  expect(await Promise.all(all)).toEqual([4, 8, 12, 4])
})

test.each([
  { of: 'one key rejects only that key', mayBeOfOne: true, fail: [4] },
  {
    of: 'all keys rejects every key, without another lookup',
    mayBeOfOne: false,
    fail: [2, 4, 6],
  },
])('a failed lookup of $of', async ({ mayBeOfOne, fail }) => {
  const { one, asked, broken, goOn } = scene(mayBeOfOne)
  broken.add(4)
  const answers = Promise.allSettled([2, 4, 6].map(one))
  await goOn()
  const failed = (await answers).flatMap(({ status }, at) =>
    status === 'rejected' ? 2 * at + 2 : [],
  )
  expect(failed).toEqual(fail)
  expect(asked).toHaveLength(mayBeOfOne ? 4 : 1)
  // Later lookups still work.
  const next = one(8)
  await goOn()
  expect(await next).toBe(16)
})
