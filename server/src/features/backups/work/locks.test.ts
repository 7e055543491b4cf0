/** Tests the locks that share one connection, including a connection that does not respond or is lost. */
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../../../../test/support/server-address.ts'
import type { PgConnection } from '../../../platform/db/index.ts'
import { openBackupLocks } from './locks.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Creates locks on fake connections that respond while `isAlive`. @param answer the result of every lock query */
function locksOn(isAlive: (connection: number) => boolean = () => true, answer = true) {
  const opened: EventEmitter[] = []
  let closed = 0
  const locks = openBackupLocks({
    log: silentLog,
    openConnection() {
      const number = opened.length + 1
      const connection = Object.assign(new EventEmitter(), {
        connect: async () => undefined,
        query: () =>
          isAlive(number)
            ? Promise.resolve({ rows: [{ done: answer }] })
            : new Promise(() => undefined),
        end: async () => {
          closed += 1
        },
      })
      opened.push(connection)
      return connection as unknown as PgConnection
    },
  })
  return { locks, opened, closed: () => closed }
}

test('a backup lock replaces its connection if it does not respond', async () => {
  let isAlive = true
  const { locks, opened } = locksOn((connection) => isAlive || connection > 1)
  await locks.share('longReads', 1)
  isAlive = false
  const refused = expect(locks.share('longReads', 1)).rejects.toMatchObject({
    code: 'database_away',
  })
  await vi.advanceTimersByTimeAsync(60_000)
  await refused
  await locks.share('longReads', 1)
  expect(opened).toHaveLength(2)
})

test('a backup lock uses one connection for all locks and closes it after the last release', async () => {
  const { locks, opened, closed } = locksOn()
  const held = [await locks.share('longReads', 1), await locks.share('longJobs', 2)]
  await held[0]?.[Symbol.asyncDispose]()
  expect([opened.length, closed()]).toEqual([1, 0])
  await held[1]?.[Symbol.asyncDispose]()
  expect([opened.length, closed()]).toEqual([1, 1])
})

test('a backup lock closes the connection if its only lock is refused', async () => {
  const { locks, closed } = locksOn(undefined, false)
  expect(await locks.share('longJobs', 2)).toBeUndefined()
  expect(closed()).toBe(1)
})

test('a backup lock aborts every lock of a lost connection, and reconnects for the next lock', async () => {
  const { locks, opened } = locksOn()
  const held = [await locks.share('longReads', 1), await locks.share('longJobs', 2)]
  opened[0]?.emit('error', new Error('terminated'))
  expect(held.map((one) => one?.lost.aborted)).toEqual([true, true])
  await locks.share('longJobTakers', 0)
  expect(opened).toHaveLength(2)
})
