/** A backup rests beside others, and beside nobody not at all. */
import { expect, test } from 'vitest'
import { frozenClock } from '../../../../test/support/time.ts'
import { openPace, restsBeside } from './pace.ts'

test('the more others there are the longer it rests, up to a bound', () => {
  expect([0, 0.1, 0.6, 1.1, 1.6, 30].map(restsBeside)).toEqual([0, 0, 2, 4, 4, 4])
})

const STEP_MS = 25

test('beside nobody it goes on, and beside others it rests once it has worked for a while', async () => {
  let spent = 0
  const clock = frozenClock()
  const rest = openPace({ spentMs: () => spent, clock })
  clock.elapse(STEP_MS)
  expect(await rest()).toBe(false)
  spent += 60_000
  expect(await rest()).toBe(false)
  clock.elapse(STEP_MS)
  const rested = rest()
  clock.elapse(4 * STEP_MS)
  expect(await rested).toBe(true)
})

test('two stages rest together, and once', async () => {
  let spent = 0
  const clock = frozenClock()
  const rest = openPace({ spentMs: () => spent, clock })
  clock.elapse(STEP_MS)
  spent += 60_000
  const first = rest()
  clock.elapse(STEP_MS)
  expect(rest()).toBe(first)
  clock.elapse(4 * STEP_MS)
  expect(await first).toBe(true)
  expect(await rest()).toBe(false)
})
