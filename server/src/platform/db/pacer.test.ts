/** Tests that background work pauses while other transactions use the database, and only then. */
import { expect, test } from 'vitest'
import { frozenClock } from '../../../test/support/time.ts'
import { SECOND } from '../../lib/clock.ts'
import { openPacer } from './pacer.ts'

const STEP_MS = 20

/** @param underWay the number of other transactions that are open during each step */
function paced({ underWay = 0, waiting = 0 }: { underWay?: number; waiting?: number }) {
  const clock = frozenClock()
  let spent = 0
  const db = { spentMs: () => spent, waiting: () => waiting, clock }
  const pacer = openPacer(db, { perTransaction: 4, max: 8, idle: 0.1 })
  return {
    clock,
    pacer,
    work(ms = STEP_MS) {
      clock.elapse(ms)
      spent += underWay * ms
    },
    async own() {
      await pacer.own(async () => {
        clock.elapse(STEP_MS)
        spent += STEP_MS
      })
    },
    /** Returns the length of the pause in milliseconds. */
    async pause() {
      const begunAt = clock.monotonic()
      let end = 0
      const rested = pacer.rest().then(() => {
        end = clock.monotonic()
      })
      for (let ms = 0; ms < 10 * SECOND && end === 0; ms += 1) {
        clock.elapse(1)
        await Promise.resolve()
      }
      await rested
      return end - begunAt
    },
  }
}

test('the pacer does not pause background work on an idle service', async () => {
  const { pacer, work } = paced({ underWay: 0.1 })
  work()
  expect(await pacer.rest()).toBe(false)
})

test('the pacer pauses background work for longer if more transactions are running, up to a limit', async () => {
  const pauses: number[] = []
  for (const underWay of [1, 3, 5, 30]) {
    const { work, pause } = paced({ underWay })
    work()
    pauses.push(await pause())
  }
  expect(pauses[0]).toBeGreaterThan(0)
  expect(pauses[1]).toBeGreaterThan(pauses[0] ?? 0)
  expect(pauses[2]).toBeGreaterThan(pauses[1] ?? 0)
  expect(pauses[3]).toBeGreaterThanOrEqual(8 * STEP_MS)
  expect(pauses[3]).toBeLessThan(8 * STEP_MS + 10)
})

test('the pacer counts transactions that wait for a connection as running', async () => {
  const { clock, pacer, work } = paced({ waiting: 2 })
  work()
  const rested = pacer.rest()
  clock.elapse(SECOND)
  expect(await rested).toBe(true)
})

test('the pacer does not count the transactions of the background work itself', async () => {
  const { pacer, own } = paced({})
  await own()
  expect(await pacer.rest()).toBe(false)
})

test('the pacer does not pause for seconds because of one slow step', async () => {
  const { work, pause } = paced({ underWay: 30 })
  work(10 * SECOND)
  expect(await pause()).toBeLessThan(2 * SECOND)
})

test('the pacer makes concurrent callers wait for the same pause', async () => {
  const { clock, pacer, work } = paced({ underWay: 30 })
  work()
  const first = pacer.rest()
  clock.elapse(STEP_MS)
  expect(pacer.rest()).toBe(first)
  clock.elapse(SECOND)
  expect(await first).toBe(true)
  // The clock stands still from now on, so a second pause would never end.
  expect(await pacer.rest()).toBe(true)
})
