import { expect, test, vi } from 'vitest'
import { inBatches } from './in-batches.ts'

test('goes on until a batch says that there is no more', async () => {
  const left = [true, true, false, true]
  await inBatches(new AbortController().signal, async () => left.shift() as boolean)
  expect(left).toEqual([true])
})

test('a stop between two batches throws its reason, and no further batch runs', async () => {
  const stop = new AbortController()
  const batch = vi.fn(async () => {
    stop.abort(new Error('stopping'))
    return true
  })
  await expect(inBatches(stop.signal, batch)).rejects.toThrow('stopping')
  expect(batch).toHaveBeenCalledTimes(1)
})

test('the last batch is not taken for unfinished when a stop comes during it', async () => {
  const stop = new AbortController()
  await inBatches(stop.signal, async () => {
    stop.abort(new Error('stopping'))
    return false
  })
})

test('nothing is begun after a stop', async () => {
  const batch = vi.fn(async () => false)
  await expect(inBatches(AbortSignal.abort(new Error('stopping')), batch)).rejects.toThrow()
  expect(batch).not.toHaveBeenCalled()
})
