/** Tests the upkeep of a node. It runs at startup and periodically, but not after a stop or a failed startup. */
import { beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../../test/support/server-address.ts'
import { frozenClock, type MovableClock } from '../../../test/support/time.ts'
import type { Logger } from '../observe/log.ts'
import { startUpkeep } from './upkeep.ts'

let done: string[]
let clock: MovableClock

beforeEach(() => {
  done = []
  clock = frozenClock()
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

test('the service runs each upkeep task once at startup, in order, and then at its interval', async () => {
  const stop = await startUpkeep([upkeep('often', 10), upkeep('seldom', 30)], {
    log: silentLog,
    clock,
  })
  expect(done).toEqual(['often', 'seldom'])
  clock.elapse(30)
  expect(done.slice(2).sort()).toEqual(['often', 'often', 'often', 'seldom'])
  stop()
  clock.elapse(30)
  expect(done).toHaveLength(6)
})

test('the service schedules no task if a task that is required for serving requests fails at startup', async () => {
  const broken = upkeep('broken', 10, () => {
    throw new Error('refused')
  })
  const all = [upkeep('first', 10), broken, upkeep('never', 10)]
  await expect(startUpkeep(all, { log: silentLog, clock })).rejects.toThrow('refused')
  expect(done).toEqual(['first', 'broken'])
  clock.elapse(30)
  expect(done).toHaveLength(2)
})

test('the service logs and repeats a task that fails at startup if it is not required for serving requests', async () => {
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
  const stop = await startUpkeep([broken, upkeep('next', 10)], { log, clock })
  expect([done, logged]).toEqual([['rotating', 'next'], ['rotating failed']])
  isBroken = false
  clock.elapse(10)
  expect(done.slice(2).sort()).toEqual(['next', 'rotating'])
  expect(logged).toHaveLength(1)
  stop()
})

test('the service logs the failure of a later run with the name of the task, and repeats the task', async () => {
  const logged: unknown[] = []
  const log = { warn: (_: object, message: string) => logged.push(message) } as unknown as Logger
  let isBroken = false
  const sometimes = upkeep('making days', 10, () => {
    if (isBroken) throw new Error('away')
  })
  const stop = await startUpkeep([sometimes], { log, clock })
  isBroken = true
  clock.elapse(20)
  await new Promise(setImmediate)
  expect(logged).toEqual(Array(2).fill('making days failed'))
  expect(done).toHaveLength(3)
  stop()
})
