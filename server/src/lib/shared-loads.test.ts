/** Tests that running loads are shared by key, and that voiding a load discards its result. */
import { expect, test } from 'vitest'
import { flights } from './shared-loads.ts'

/** Creates loads that end when the test decides, and lists the values that were delivered. */
function controlled() {
  const loads = flights<string, string>()
  const ends: ((value: string) => void)[] = []
  const landed: string[] = []
  const ask = (key: string) =>
    loads.join(
      key,
      () => new Promise((resolve) => ends.push(resolve)),
      (value) => landed.push(value),
    )
  return { loads, ends, landed, ask }
}

test('the loader shares one load among concurrent callers of a key', async () => {
  const { ends, landed, ask } = controlled()
  const asked = Array.from({ length: 16 }, () => ask('a'))
  const other = ask('b')
  expect(ends).toHaveLength(2)
  ends[0]?.('A')
  ends[1]?.('B')
  expect(await Promise.all([...asked, other])).toEqual([...Array(16).fill('A'), 'B'])
  expect(landed).toEqual(['A', 'B'])
})

test('the loader starts a new load after the previous one has finished', async () => {
  const { ends, ask } = controlled()
  const first = ask('a')
  ends[0]?.('A')
  await first
  void ask('a')
  expect(ends).toHaveLength(2)
})

test('the loader rejects all callers that wait for a failed load, and forgets the load', async () => {
  const loads = flights<string, string>()
  const landed: string[] = []
  const fail = () => loads.join('a', () => Promise.reject(new Error('away')), landed.push)
  const both = await Promise.allSettled([fail(), fail()])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await loads.join('a', async () => 'A', landed.push.bind(landed))).toBe('A')
  expect(landed).toEqual(['A'])
})

test('the loader returns the result of an invalidated load only to the callers that already wait for it', async () => {
  const { loads, ends, landed, ask } = controlled()
  const early = ask('a')
  const other = ask('b')
  loads.voidIf((key) => key === 'a')
  const late = ask('a')
  expect(ends).toHaveLength(3)
  ends[2]?.('new')
  expect(await late).toBe('new')
  ends[0]?.('old')
  expect(await early).toBe('old')
  ends[1]?.('B')
  await other
  expect(landed).toEqual(['new', 'B'])
})

test('the loader keeps a newer load when an invalidated load ends', async () => {
  const { loads, ends, ask } = controlled()
  const early = ask('a')
  loads.voidIf(() => true)
  const late = ask('a')
  ends[0]?.('old')
  await early
  const joined = ask('a')
  expect(ends).toHaveLength(2)
  ends[1]?.('new')
  expect(await Promise.all([late, joined])).toEqual(['new', 'new'])
})
