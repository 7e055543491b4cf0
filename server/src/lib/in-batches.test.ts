import { expect, test, vi } from 'vitest'
import { inBatches } from './in-batches.ts'

test('inBatches() runs batches until one reports that nothing is left', async () => {
  const left = [true, true, false, true]
  await inBatches(new AbortController().signal, async () => left.shift() as boolean)
  expect(left).toEqual([true])
})

test('inBatches() throws the abort reason if the signal aborts between two batches', async () => {
  const stop = new AbortController()
  const batch = vi.fn(async () => {
    stop.abort(new Error('stopping'))
    return true
  })
  await expect(inBatches(stop.signal, batch)).rejects.toThrow('stopping')
  expect(batch).toHaveBeenCalledTimes(1)
})

test('inBatches() resolves if the signal aborts during the last batch', async () => {
  const stop = new AbortController()
  await inBatches(stop.signal, async () => {
    stop.abort(new Error('stopping'))
    return false
  })
})

test('inBatches() starts no batch if the signal has already aborted', async () => {
  const batch = vi.fn(async () => false)
  await expect(inBatches(AbortSignal.abort(new Error('stopping')), batch)).rejects.toThrow()
  expect(batch).not.toHaveBeenCalled()
})
