/** Turns of one caller: few at once, the others in their order, and not for ever. */
import { expect, test } from 'vitest'
import { frozenClock } from '../../../test/support/time.ts'
import { Problem } from '../../lib/problems.ts'
import { fewAtOnce } from './few-at-once.ts'

/** Work that ends when it is told to, and says when it has begun. */
function stage() {
  const clock = frozenClock()
  const turns = fewAtOnce('lists', clock)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const start = (key: number, name: string) =>
    turns.run(key, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
  const end = async (name: string) => {
    ends.get(name)?.()
    await settled()
  }
  return { turns, begun, start, end, settled, advance: clock.elapse }
}

test('two of a caller run at once, the others in their order, beside those of another', async () => {
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

test('whoever has waited for 5 s is refused, and who came later has the turn', async () => {
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

test('a hundred may wait, and one more is refused at once', async () => {
  const { start, end, settled } = stage()
  const first = [start(1, 'a'), start(1, 'b')]
  const waiting = Array.from({ length: 100 }, (_, index) => start(1, `w${index}`))
  await expect(start(1, 'too many')).rejects.toBeInstanceOf(Problem)
  await settled()
  for (const name of ['a', 'b']) await end(name)
  for (let index = 0; index < 100; index += 1) await end(`w${index}`)
  expect(await Promise.all([...first, ...waiting])).toHaveLength(102)
})

test('what fails gives its turn on as well', async () => {
  const { turns, begun, start, settled } = stage()
  const fail = () => turns.run(1, () => Promise.reject(new Error('no')))
  const outcomes = [fail(), fail(), fail()].map((run) => run.catch((error: Error) => error.message))
  expect(await Promise.all(outcomes)).toEqual(['no', 'no', 'no'])
  void start(1, 'a')
  await settled()
  expect(begun).toEqual(['a'])
})
