/** Tests which events wake a follower: entries of any node, and the end of a transaction that has blocked entries. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { gate, unheard } from '../../../test/sessions/scopes.ts'
import { eventually } from '../../../test/sessions/users.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { systemTime } from '../../lib/time.ts'
import { listenerClient } from '../db/connection.ts'
import { type Changes, openScopes, type Scopes, type Topic, watchChanges } from '../db/index.ts'
import { append, SYSTEM } from './append.ts'
import { type FollowOptions, follow } from './index.ts'

const HOUR = 3_600_000

let database: TestDatabase

beforeAll(async () => {
  database = await migratedDatabase()
})

interface Node {
  db: Scopes
  changes: Changes
}

/** Starts the part of a service process that writes and follows the journal. */
async function node(): Promise<Node> {
  const changes = watchChanges(database.address, silentLog, systemTime)
  const db = openScopes(database.address, { clock: systemTime, size: 10, changes, log: silentLog })
  onTestFinished(async () => {
    await changes.stop()
    await db.close()
  })
  await until('the node hears the others', () => changes.trusted() || undefined)
  return { db, changes }
}

const write = ({ db }: Node, word: string) =>
  db.acrossTenants((tx) =>
    append(tx, SYSTEM, {
      action: 'tenant.updated',
      tenant_id: null,
      resource_type: 'word',
      resource_id: word,
    }),
  )

let made = 0

/** Starts a follower that polls only once an hour. */
function collect({ db, changes }: Node, options: Partial<FollowOptions> = {}) {
  const seen: string[] = []
  let looks = 0
  let running = 0
  const counted: Scopes = {
    ...db,
    acrossTenants: (work, mode) => {
      if (mode === 'read') looks += 1
      running += 1
      return db.acrossTenants(work, mode).finally(() => {
        running -= 1
      })
    },
  }
  made += 1
  const follower = follow(counted, silentLog, {
    name: `follower-${made}`,
    pollMs: HOUR,
    changes,
    handle: async (_tx, entries) =>
      void seen.push(...entries.map((entry) => `${entry.resource_id}`)),
    ...options,
  })
  onTestFinished(() => follower.stop())
  const sees = (word: string) => until(`sees ${word}`, () => seen.includes(word) || undefined)
  return { follower, seen, sees, looks: () => looks, isBusy: () => running > 0 }
}

describe('a journal follower that polls once an hour', () => {
  test('reads entries of any node as soon as they are written, many times in a row', async () => {
    const [writer, worker] = [await node(), await node()]
    const there = collect(worker)
    const here = collect(writer)
    for (let round = 0; round < 20; round += 1) {
      await write(writer, `at-once-${round}`)
      await Promise.all([there.sees(`at-once-${round}`), here.sees(`at-once-${round}`)])
    }
  })

  test('reads everything that many nodes write concurrently, after few notifications', async () => {
    const [writer, worker] = [await node(), await node()]
    const { seen } = collect(worker)
    const listener = listenerClient(database.address)
    await listener.connect()
    onTestFinished(() => listener.end())
    const notified: string[] = []
    listener.on('notification', ({ payload }) => void notified.push(payload ?? ''))
    await listener.query('listen wardkeep_changes')
    const words = Array.from({ length: 400 }, (_, index) => `many-${index}`)
    await Promise.all(words.map((word) => write(writer, word)))
    await eventually(
      () => seen.filter((word) => word.startsWith('many-')).length,
      (count) => count >= words.length,
      20_000,
    )
    expect(seen.filter((word) => word.startsWith('many-')).sort()).toEqual(words.sort())
    await listener.query('select 1')
    expect(new Set(notified)).toEqual(new Set(['journal']))
  })

  test('reads entries that an older transaction delayed, even if that transaction wrote none', async () => {
    const [writer, worker] = [await node(), await node()]
    const { seen, sees, looks } = collect(worker)
    const started = gate()
    const end = gate()
    const older = writer.db.acrossTenants(async (tx) => {
      await sql`select pg_current_xact_id()`.execute(tx.db)
      started.open()
      await end.pass
    })
    await started.pass
    await write(writer, 'held-back')
    const before = looks()
    await until('it has looked in vain', () => looks() > before + 1 || undefined)
    expect(seen).not.toContain('held-back')
    end.open()
    await older
    await sees('held-back')
  })

  test('reads entries that were written while its listener was disconnected', async () => {
    const [writer, worker] = [await node(), await node()]
    const { sees } = collect(worker)
    await write(writer, 'before')
    await sees('before')
    await database.sql(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and (query like 'select pg_current_snapshot()%' or query = 'listen wardkeep_changes')`)
    await until('the loss is noticed', () => !worker.changes.trusted() || undefined)
    await write(writer, 'meanwhile')
    await sees('meanwhile')
  })

  test('retries a second after a failure, even if others write entries in the meantime', async () => {
    const writer = await node()
    const pass = stoppedTimers()
    let tries = 0
    const { follower } = collect(writer, {
      handle: async () => {
        tries += 1
        throw new Error('not now')
      },
    })
    await write(writer, 'poison')
    const goOn = async () => {
      follower.wake()
      await pass(5)
    }
    while (tries === 0) await goOn()
    // The follower is woken 150 times, every 5 ms, which takes less than a second. Without a minimum delay, it would
    // retry each time.
    for (let times = 0; times < 150; times += 1) await goOn()
    expect(tries).toBe(1)
    while (tries === 1) await goOn()
  })

  test.each([
    { name: 'reads at most once in 5 ms when it is notified often', came: true, apartMs: 5 },
    {
      name: 'reads at most once in 25 ms after entries that it does not need',
      came: false,
      apartMs: 25,
    },
  ])('$name', async ({ came, apartMs }) => {
    const { changes, tell } = controlled()
    const writer = await node()
    const pass = stoppedTimers()
    const words: string[] = []
    const { follower, looks, isBusy } = collect(
      { db: writer.db, changes },
      {
        handle: async (_tx, entries) => {
          words.push(...entries.map((entry) => `${entry.resource_id}`))
          return came
        },
      },
    )
    const sees = async (word: string) => {
      await write(writer, word)
      while (!words.includes(word)) {
        follower.wake()
        await pass(apartMs)
      }
    }
    const hurry = async () => {
      for (let times = 0; times < 200; times += 1) {
        follower.wake()
        tell('journal')
        await new Promise(setImmediate)
      }
      while (isBusy()) await pass(0)
    }
    await sees(`before-${came}`)
    await hurry()
    const before = looks()
    for (let times = 1; times <= 10; times += 1) {
      await pass(apartMs - 1)
      await hurry()
      expect(looks() - before).toBe(times - 1)
      await pass(1)
      await hurry()
      expect(looks() - before).toBe(times)
    }
    await sees(`at-last-${came}`)
  })
})

/** Replaces timers with fake ones. Returns a function that advances the time and then waits for the database. */
function stoppedTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldClearNativeTimers: true })
  onTestFinished(() => void vi.useRealTimers())
  return async (ms: number) => {
    vi.advanceTimersByTime(ms)
    await database.sql('select 1')
  }
}

/** Returns change notifications that the test publishes, and the set of their listeners. */
function controlled() {
  const listeners = new Set<(topic: Topic | null) => void>()
  const changes: Changes = {
    ...unheard,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const tell = (topic: Topic | null) => {
    for (const listener of listeners) listener(topic)
  }
  return { changes, listeners, tell }
}

test('a follower is woken only by journal topics and missed notifications, until it is stopped', async () => {
  const { changes, listeners, tell } = controlled()
  const writer = await node()
  const { follower, seen, sees } = collect({ db: writer.db, changes })
  await write(writer, 'first')
  tell('journal')
  await sees('first')
  await write(writer, 'second')
  tell(null)
  await sees('second')
  expect(listeners.size).toBe(1)
  await follower.stop()
  expect(listeners.size).toBe(0)
  await write(writer, 'third')
  follower.wake()
  expect(seen).not.toContain('third')
})
