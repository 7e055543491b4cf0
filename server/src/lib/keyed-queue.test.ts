/** Tests a queue that runs a limited number of tasks for each key. Other tasks wait in order, up to a time limit. */
import { expect, test } from 'vitest'
import { frozenClock } from '../../test/support/time.ts'
import { keyedQueue } from './keyed-queue.ts'
import { Problem } from './problems.ts'

/** Creates tasks that end when the test decides, and lists those that have begun. */
function stage() {
  const clock = frozenClock()
  const queue = keyedQueue<number>({
    perKey: 2,
    maxWaiting: 100,
    patience: { ms: 5_000, clock },
    refusal: () => new Problem('too_many_requests', { retryAfter: 1 }),
  })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (key: number, name: string) =>
    queue.run(key, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
  const end = async (name: string) => {
    ends.get(name)?.()
    await settled()
  }
  return { queue, begun, start, end, settled, advance: clock.elapse }
}

test('the keyed queue runs two tasks of one key at a time, independently of other keys', async () => {
  const { begun, start, end, settled } = stage()
  const all = ['a', 'b', 'c', 'd'].map((name) => start(1, name))
  const other = start(2, 'x')
  await settled()
  expect(begun).toEqual(['a', 'b', 'x'])
  await end('b')
  expect(begun).toEqual(['a', 'b', 'x', 'c'])
  for (const name of ['a', 'c', 'd', 'x']) await end(name)
  expect(await Promise.all([...all, other])).toEqual(['a', 'b', 'c', 'd', 'x'])
})

test('the keyed queue rejects a task that has waited over 5 s when its turn comes, and runs the next one', async () => {
  const { begun, start, end, settled, advance } = stage()
  void start(1, 'a')
  void start(1, 'b')
  const early = start(1, 'early').catch((error: unknown) => error)
  advance(3_000)
  void start(1, 'late')
  advance(2_001)
  await settled()
  await end('a')
  expect(await early).toMatchObject({ code: 'too_many_requests', status: 429, retryAfter: 1 })
  expect(begun).toEqual(['a', 'b', 'late'])
})

test('the keyed queue holds a hundred tasks of a key, and rejects one more immediately', async () => {
  const { start, end, settled } = stage()
  const first = [start(1, 'a'), start(1, 'b')]
  const waiting = Array.from({ length: 100 }, (_, index) => start(1, `w${index}`))
  await expect(start(1, 'too many')).rejects.toBeInstanceOf(Problem)
  await settled()
  for (const name of ['a', 'b']) await end(name)
  for (let index = 0; index < 100; index += 1) await end(`w${index}`)
  expect(await Promise.all([...first, ...waiting])).toHaveLength(102)
})

test('the keyed queue runs the next task after one fails', async () => {
  const { queue, begun, start, settled } = stage()
  const fail = () => queue.run(1, () => Promise.reject(new Error('no')))
  const outcomes = [fail(), fail(), fail()].map((run) => run.catch((error: Error) => error.message))
  expect(await Promise.all(outcomes)).toEqual(['no', 'no', 'no'])
  void start(1, 'a')
  await settled()
  expect(begun).toEqual(['a'])
})

test('the keyed queue reports a key as full only while its maximum number of tasks runs', async () => {
  const { queue, start, end, settled } = stage()
  void start(1, 'a')
  expect(queue.isFull(1)).toBe(false)
  void start(1, 'b')
  expect([queue.isFull(1), queue.isFull(2)]).toEqual([true, false])
  await settled()
  await end('a')
  expect(queue.isFull(1)).toBe(false)
})
