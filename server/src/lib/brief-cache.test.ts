/** Tests a cache whose values stay valid for a short time. */
import { expect, test } from 'vitest'
import { recent } from './brief-cache.ts'

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

test('the brief cache shares one result among concurrent and recent callers', async () => {
  const { ask, advance } = stage()
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
  advance(4_999)
  expect(await ask()).toBe(1)
  advance(1)
  expect(await ask()).toBe(2)
})

test('the brief cache caches one result per key, up to the maximum number of keys', async () => {
  const { ask } = stage()
  expect([await ask('a'), await ask('b'), await ask('c')]).toEqual([1, 2, 3])
  expect([await ask('c'), await ask('a')]).toEqual([3, 4])
})

test('the brief cache does not cache a result that was dropped while it loaded', async () => {
  const { answers, ask } = stage()
  const early = ask()
  answers.forget()
  expect(await ask()).toBe(2)
  expect(await early).toBe(1)
  expect(await ask()).toBe(2)
})

test('the brief cache reports a failed load to its waiting callers, and does not cache it', async () => {
  const { answers, ask } = stage()
  const fail = () => Promise.reject(new Error('away'))
  const failed = [answers.get('a', fail), answers.get('a', fail)]
  expect((await Promise.allSettled(failed)).map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
  ])
  expect(await ask()).toBe(1)
})

test('the brief cache does not keep results for longer after the clock was set back', async () => {
  const { ask, advance } = stage()
  await ask()
  advance(-60_000)
  expect(await ask()).toBe(2)
})
