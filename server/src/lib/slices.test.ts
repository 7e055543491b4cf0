/** Tests that long computations let other work of the event loop run. */
import { expect, test } from 'vitest'
import { slices } from './slices.ts'

test('yields to the event loop at the end of a slice', async () => {
  let passed = false
  setImmediate(() => {
    passed = true
  })
  const breathe = slices(0)
  await breathe()
  expect(passed).toBe(true)
})

test('does not wait within a slice', () => {
  expect(slices(Number.POSITIVE_INFINITY)()).toBeUndefined()
})
