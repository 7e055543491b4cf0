/** A backup rests beside others, and beside nobody not at all. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openPace, restsBeside } from './pace.ts'

test('the more others there are the longer it rests, up to a bound', () => {
  expect([0, 0.1, 0.6, 1.1, 1.6, 30].map(restsBeside)).toEqual([0, 0, 2, 4, 4, 4])
})

const STEP_MS = 25

test('beside nobody it goes on, and beside others it rests once it has worked for a while', async () => {
  let spent = 0
  const rest = openPace({ spentMs: () => spent })
  await delay(STEP_MS)
  expect(await rest()).toBe(false)
  spent += 60_000
  expect(await rest()).toBe(false)
  await delay(STEP_MS)
  expect(await rest()).toBe(true)
})
