/** What is read is said by a connection that may die without a word. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../../../../test/support/server-address.ts'
import type { Connection } from '../../../platform/db/index.ts'
import { openReading } from './reading.ts'

const ID = '0badcafe-0000-4000-8000-000000000000'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** As a connection to a database is, of which only what is asked is answered here. */
const connection = (answers: () => boolean) =>
  ({
    on: () => undefined,
    connect: async () => undefined,
    query: (text: string) =>
      text.startsWith('select') && !answers()
        ? new Promise(() => undefined)
        : Promise.resolve({ rows: [{ done: true }] }),
    end: async () => undefined,
  }) as unknown as Connection

test('one that answers no more is told of, and replaced for who reads next', async () => {
  let opened = 0
  let isAlive = true
  const reading = openReading({
    log: silentLog,
    openConnection() {
      opened += 1
      const number = opened
      return connection(() => isAlive || number > 1)
    },
  })
  await reading.hold(ID)
  isAlive = false
  const refused = expect(reading.hold(ID)).rejects.toMatchObject({ code: 'database_away' })
  await vi.advanceTimersByTimeAsync(60_000)
  await refused
  await reading.hold(ID)
  expect(opened).toBe(2)
})
