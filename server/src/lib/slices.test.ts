/** Long work lets others have the event loop. */
import { expect, test } from 'vitest'
import { slices } from './slices.ts'

test('who waits for the event loop gets it once a slice is over', async () => {
  let passed = false
  setImmediate(() => {
    passed = true
  })
  const breathe = slices(0)
  await breathe()
  expect(passed).toBe(true)
})

test('within a slice nothing is waited for', () => {
  expect(slices(Number.POSITIVE_INFINITY)()).toBeUndefined()
})
