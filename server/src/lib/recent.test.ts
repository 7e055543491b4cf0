/** Answers that are good for a moment. */
import { expect, test } from 'vitest'
import { recent } from './recent.ts'

function stage() {
  let now = 1_000
  let loads = 0
  const answers = recent<number>({ now: () => now }, 5_000, 2)
  const ask = (key = 'a') =>
    answers.get(key, async () => {
      loads += 1
      return loads
    })
  const advance = (ms: number): void => {
    now += ms
  }
  return { answers, ask, advance }
}

test('all who ask at once, and within the time, share one answer', async () => {
  const { ask, advance } = stage()
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
  advance(4_999)
  expect(await ask()).toBe(1)
  advance(1)
  expect(await ask()).toBe(2)
})

test('each key has its own, and the number of keys is bounded', async () => {
  const { ask } = stage()
  expect([await ask('a'), await ask('b'), await ask('c')]).toEqual([1, 2, 3])
  expect([await ask('c'), await ask('a')]).toEqual([3, 4])
})

test('what is forgotten while it is being loaded is not kept', async () => {
  const { answers, ask } = stage()
  const early = ask()
  answers.forget()
  expect(await ask()).toBe(2)
  expect(await early).toBe(1)
  expect(await ask()).toBe(2)
})

test('a failure is told to all who waited for it, and to nobody after', async () => {
  const { answers, ask } = stage()
  const fail = () => Promise.reject(new Error('away'))
  const failed = [answers.get('a', fail), answers.get('a', fail)]
  expect((await Promise.allSettled(failed)).map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
  ])
  expect(await ask()).toBe(1)
})

test('a clock that was set back keeps nothing for longer', async () => {
  const { ask, advance } = stage()
  await ask()
  advance(-60_000)
  expect(await ask()).toBe(2)
})
