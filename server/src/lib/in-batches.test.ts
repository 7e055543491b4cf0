import { expect, test, vi } from 'vitest'
import { inBatches } from './in-batches.ts'

test('continues until a batch reports that nothing is left', async () => {
  const left = [true, true, false, true]
  await inBatches(new AbortController().signal, async () => left.shift() as boolean)
  expect(left).toEqual([true])
})

test('throws the reason of the abort signal between two batches', async () => {
  const stop = new AbortController()
  const batch = vi.fn(async () => {
    stop.abort(new Error('stopping'))
    return true
  })
  await expect(inBatches(stop.signal, batch)).rejects.toThrow('stopping')
  expect(batch).toHaveBeenCalledTimes(1)
})

test('completes when the signal aborts during the last batch', async () => {
  const stop = new AbortController()
  await inBatches(stop.signal, async () => {
    stop.abort(new Error('stopping'))
    return false
  })
})

test('starts no batch if the signal has aborted already', async () => {
  const batch = vi.fn(async () => false)
  await expect(inBatches(AbortSignal.abort(new Error('stopping')), batch)).rejects.toThrow()
  expect(batch).not.toHaveBeenCalled()
})
