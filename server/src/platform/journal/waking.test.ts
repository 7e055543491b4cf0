/** What wakes a follower: the entries of every node, and what an older transaction held back. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { gate, unheard } from '../../../test/sessions/scopes.ts'
import { eventually } from '../../../test/sessions/users.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/embedded.ts'
import { silentLog } from '../../../test/support/server-address.ts'
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

/** A process of the service, as far as the journal goes. */
async function node(): Promise<Node> {
  const changes = watchChanges(database.address, silentLog)
  const db = openScopes(database.address, { size: 10, changes, log: silentLog })
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

/** A follower that hardly ever looks by itself. */
function collect({ db, changes }: Node, options: Partial<FollowOptions> = {}) {
  const seen: string[] = []
  let looks = 0
  const counted: Scopes = {
    ...db,
    acrossTenants: (work, mode) => {
      if (mode === 'read') looks += 1
      return db.acrossTenants(work, mode)
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
  return { follower, seen, sees, looks: () => looks }
}

describe('a follower that looks once an hour', () => {
  test('sees at once what any node writes, also many times in a row', async () => {
    const [writer, worker] = [await node(), await node()]
    const there = collect(worker)
    const here = collect(writer)
    for (let round = 0; round < 20; round += 1) {
      await write(writer, `at-once-${round}`)
      await Promise.all([there.sees(`at-once-${round}`), here.sees(`at-once-${round}`)])
    }
  })

  test('sees everything that many write at once, and the nodes are told of it in few words', async () => {
    const [writer, worker] = [await node(), await node()]
    const { seen } = collect(worker)
    const listener = listenerClient(database.address)
    await listener.connect()
    onTestFinished(() => listener.end())
    const told: string[] = []
    listener.on('notification', ({ payload }) => void told.push(payload ?? ''))
    await listener.query('listen wardkeep_changes')
    const start = performance.now()
    const words = Array.from({ length: 400 }, (_, index) => `many-${index}`)
    await Promise.all(words.map((word) => write(writer, word)))
    await eventually(
      () => seen.filter((word) => word.startsWith('many-')).length,
      (count) => count >= words.length,
      20_000,
    )
    expect(seen.filter((word) => word.startsWith('many-')).sort()).toEqual(words.sort())
    await listener.query('select 1')
    expect(new Set(told)).toEqual(new Set(['journal']))
    // One in five milliseconds at the most; timers may be early by a part of one.
    expect(told.length).toBeLessThan((performance.now() - start) / 4 + 2)
  })

  test('sees what an older transaction held back, although that one wrote no entry', async () => {
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

  test('sees what was written while its listener was away', async () => {
    const [writer, worker] = [await node(), await node()]
    const { sees } = collect(worker)
    await write(writer, 'before')
    await sees('before')
    await database.sql(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query in ('select 1', 'listen wardkeep_changes')`)
    await until('the loss is noticed', () => !worker.changes.trusted() || undefined)
    await write(writer, 'meanwhile')
    await sees('meanwhile')
  })

  test('does its work again soon after a failure, but is not hurried by the entries of others', async () => {
    const writer = await node()
    const tries: number[] = []
    const { follower } = collect(writer, {
      handle: async () => {
        tries.push(performance.now())
        throw new Error('not now')
      },
    })
    await write(writer, 'poison')
    await until('it has tried again', () => {
      follower.wake()
      return tries.length > 1 || undefined
    })
    expect((tries[1] ?? 0) - (tries[0] ?? 0)).toBeGreaterThan(500)
  })

  test.each([
    { name: 'that is woken very often looks now and then', came: true, apartMs: 5 },
    { name: 'to whom the entries are nothing looks more rarely', came: false, apartMs: 25 },
  ])('$name', async ({ came, apartMs }) => {
    const { changes, tell } = controlled()
    const writer = await node()
    const words: string[] = []
    const { follower, looks } = collect(
      { db: writer.db, changes },
      {
        handle: async (_tx, entries) => {
          words.push(...entries.map((entry) => `${entry.resource_id}`))
          return came
        },
      },
    )
    const sees = (word: string) => until(word, () => words.includes(word) || undefined)
    await write(writer, `before-${came}`)
    tell('journal')
    await sees(`before-${came}`)
    const [start, before] = [performance.now(), looks()]
    while (performance.now() - start < 300) {
      follower.wake()
      tell('journal')
      await new Promise(setImmediate)
    }
    // Timers may be early by a part of a millisecond.
    const most = (performance.now() - start) / (apartMs - 1) + 3
    expect(looks() - before).toBeLessThan(most)
    await write(writer, `at-last-${came}`)
    follower.wake()
    await sees(`at-last-${came}`)
  })
})

/** Changes that the test tells, and who listens to them. */
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

test('a follower is woken by the journal and by what was missed alone, and by nothing once stopped', async () => {
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
