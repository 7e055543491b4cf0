/** Tests that long computations let other work of the event loop run. */
import { expect, test } from 'vitest'
import { slices } from './slices.ts'

test('long work yields to the event loop when its time slice ends', async () => {
  let passed = false
  setImmediate(() => {
    passed = true
  })
  const breathe = slices(0)
  await breathe()
  expect(passed).toBe(true)
})

test('long work does not yield within a time slice', () => {
  expect(slices(Number.POSITIVE_INFINITY)()).toBeUndefined()
})
