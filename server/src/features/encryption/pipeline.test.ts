/** Tests the pipeline. Its tasks overlap. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { gate } from '../../../test/sessions/scopes.ts'
import { openPipeline } from './pipeline.ts'

test('the pipeline starts the next task when the previous one reports progress, up to the limit', async () => {
  const lanes = openPipeline(2)
  const [first, second] = [gate(), gate()]
  const begun: string[] = []
  const piece = (name: string, until: Promise<void>) =>
    lanes.begin<string>(async (report) => {
      begun.push(name)
      report(name)
      await until
      return 'its end'
    })
  expect(await piece('a', first.pass)).toBe('a')
  expect(await piece('b', second.pass)).toBe('b')
  const third = piece('c', Promise.resolve())
  await turnOfTheLoop()
  expect(begun).toEqual(['a', 'b'])
  second.open()
  expect(await third).toBe('c')
  first.open()
  await lanes.end()
})

test('the pipeline returns the result of a task that reports no progress', async () => {
  expect(await openPipeline(2).begin(async () => 7)).toBe(7)
})

test('the pipeline throws the error of a task at the next call, after all running tasks have ended', async () => {
  const lanes = openPipeline(2)
  const held = gate()
  let isOver = false
  await lanes.begin<void>(async (report) => {
    report()
    await held.pass
    isOver = true
  })
  await lanes.begin<void>(async (report) => {
    report()
    throw new Error('it failed')
  })
  const next = lanes.begin(async () => 'never')
  held.open()
  await expect(next).rejects.toThrow('it failed')
  expect(isOver).toBe(true)
  await expect(lanes.end()).rejects.toThrow('it failed')
})

test('the pipeline throws the error of a task that fails before it reports progress', async () => {
  const lanes = openPipeline(2)
  const failing = lanes.begin(async () => {
    throw new Error('it failed at once')
  })
  await expect(failing).rejects.toThrow('it failed at once')
})
