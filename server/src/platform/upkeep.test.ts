/** The upkeep of a node: at its start, every so often, and no more once it stops or has not started. */
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../test/support/server-address.ts'
import type { Logger } from './observe/log.ts'
import { startUpkeep } from './upkeep.ts'

let done: string[]

beforeEach(() => {
  done = []
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
})

const upkeep = (what: string, everyMs: number, run?: () => void, isNeededToServe = true) => ({
  what,
  everyMs,
  isNeededToServe,
  async run() {
    done.push(what)
    run?.()
  },
})

test('each is done once at the start, in order, and again when its time has come', async () => {
  const stop = await startUpkeep([upkeep('often', 10), upkeep('seldom', 30)], silentLog)
  expect(done).toEqual(['often', 'seldom'])
  vi.advanceTimersByTime(30)
  expect(done.slice(2).sort()).toEqual(['often', 'often', 'often', 'seldom'])
  stop()
  expect(vi.getTimerCount()).toBe(0)
})

test('a start that fails at one that is needed to serve leaves no timer', async () => {
  const broken = upkeep('broken', 10, () => {
    throw new Error('refused')
  })
  const all = [upkeep('first', 10), broken, upkeep('never', 10)]
  await expect(startUpkeep(all, silentLog)).rejects.toThrow('refused')
  expect(done).toEqual(['first', 'broken'])
  expect(vi.getTimerCount()).toBe(0)
})

test('what is not needed to serve may fail at the start: it is logged, and done again', async () => {
  const logged: unknown[] = []
  const log = { warn: (_: object, message: string) => logged.push(message) } as unknown as Logger
  let isBroken = true
  const broken = upkeep(
    'rotating',
    10,
    () => {
      if (isBroken) throw new Error('away')
    },
    false,
  )
  const stop = await startUpkeep([broken, upkeep('next', 10)], log)
  expect([done, logged]).toEqual([['rotating', 'next'], ['rotating failed']])
  isBroken = false
  vi.advanceTimersByTime(10)
  expect(done.slice(2).sort()).toEqual(['next', 'rotating'])
  expect(logged).toHaveLength(1)
  stop()
})

test('what fails later is logged by its name, and done again', async () => {
  const logged: unknown[] = []
  const log = { warn: (_: object, message: string) => logged.push(message) } as unknown as Logger
  let isBroken = false
  const sometimes = upkeep('making days', 10, () => {
    if (isBroken) throw new Error('away')
  })
  const stop = await startUpkeep([sometimes], log)
  isBroken = true
  vi.advanceTimersByTime(20)
  await new Promise(setImmediate)
  expect(logged).toEqual(Array(2).fill('making days failed'))
  expect(done).toHaveLength(3)
  stop()
})
