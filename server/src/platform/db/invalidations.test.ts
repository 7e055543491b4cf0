/** Tests invalidations that are stored as rows: when each node reads them, and when they are deleted. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { scopesOf } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { systemTime } from '../../lib/time.ts'
import { watchChanges } from './changes.ts'
import { listenerClient, openPool } from './connection.ts'
import { readHeartbeat } from './heartbeat.ts'
import { deleteOldTopics } from './old-invalidations.ts'
import type { Scopes } from './scope.ts'
import type { Topic } from './topics.ts'

let database: TestDatabase
/** Database scopes that commit like a node whose notifications are all lost. */
let db: Scopes

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

beforeEach(() => database.sql('delete from invalidations'))

const invalidate = (...topics: Topic[]) => db.acrossTenants(async (tx) => tx.invalidate(...topics))

const recorded = async () =>
  (
    await database.sql<{ topics: string }>(
      `select topics from invalidations where topics <> '' order by xid, topics`,
    )
  ).map(({ topics }) => topics)

/** A listening node and the topics it has received. */
async function listening(): Promise<(Topic | null)[]> {
  const changes = watchChanges(database.address, silentLog, systemTime)
  onTestFinished(() => changes.stop())
  await until('the node listens', () => changes.trusted() || undefined)
  const received: (Topic | null)[] = []
  changes.subscribe((topic) => void received.push(topic))
  return received
}

const receives = (received: (Topic | null)[], topic: Topic | null) =>
  until(`the node hears ${topic}`, () => received.includes(topic) || undefined)

/** Opens a transaction that has written topics, and commits when it is released. */
async function openTransaction(...topics: Topic[]) {
  const written = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const ended = db.acrossTenants(async (tx) => {
    await sql`select pg_current_xact_id()`.execute(tx.db)
    tx.invalidate(...topics)
    written.resolve()
    await end.promise
  })
  await Promise.race([written.promise, ended])
  return {
    commit() {
      end.resolve()
      return ended
    },
  }
}

/** A connection as the owner, for transactions outside the scopes. */
async function session() {
  const client = await openPool(database.address, 1).connect()
  onTestFinished(async () => client.release(true))
  return client
}

/** Reads like a listener. Returns the topics since the previous read. */
async function reader() {
  const client = listenerClient(database.address)
  await client.connect()
  onTestFinished(() => client.end())
  let last = await readHeartbeat(client, undefined)
  return async () => {
    last = await readHeartbeat(client, last.snapshot)
    return last.topics
  }
}

describe('a node that reads invalidations', () => {
  test('finds the topics of another node within a second even without a notification', async () => {
    const received = await listening()
    await invalidate('user:5', 'session:a')
    const committed = performance.now()
    await receives(received, 'session:a')
    expect(performance.now() - committed).toBeLessThan(1_000)
    expect(received).toEqual(['user:5', 'session:a'])
  })

  test('finds the topics of a transaction that was open during earlier heartbeats exactly once', async () => {
    const received = await listening()
    const open = await openTransaction('user:1')
    for (const topic of ['user:2', 'user:3'] as const) {
      await invalidate(topic)
      await receives(received, topic)
    }
    await open.commit()
    await receives(received, 'user:1')
    await invalidate('user:4')
    await receives(received, 'user:4')
    expect(received).toEqual(['user:2', 'user:3', 'user:1', 'user:4'])
  })

  test('finds no topics of a transaction that was rolled back', async () => {
    const received = await listening()
    const client = await session()
    await client.query(`begin; insert into invalidations (topics) values ('user:1'); rollback`)
    await client.query(`begin; savepoint before; insert into invalidations (topics) values ('user:2');
      rollback to before; savepoint before; insert into invalidations (topics) values ('user:3');
      release before; commit`)
    await invalidate('user:4')
    await receives(received, 'user:4')
    expect(received).toEqual(['user:3', 'user:4'])
  })

  test('drops all cached values after a restore, or if there are too many topics to read', async () => {
    const read = await reader()
    await invalidate('user:1', 'restored')
    expect(await read()).toEqual([null])
    const many = Array.from({ length: 10_001 }, (_, at): Topic => `user:${at}`)
    await invalidate(...many.slice(1))
    expect(await read()).toHaveLength(10_000)
    await invalidate(...many)
    expect(await read()).toEqual([null])
    await database.sql(
      `insert into invalidations (topics) select 'user:' || n from generate_series(1, 10001) n`,
    )
    expect(await read()).toEqual([null])
    expect(await read()).toEqual([])
  })
})

describe('the deletion of old invalidations', () => {
  test('keeps rows committed after the mark', async () => {
    await invalidate('user:1')
    const mark = await deleteOldTopics(db, undefined)
    await invalidate('user:2')
    expect(await recorded()).toEqual(['user:1', 'user:2'])
    const next = await deleteOldTopics(db, mark)
    expect(await recorded()).toEqual(['unread', 'user:2'])
    await deleteOldTopics(db, next)
    expect(await recorded()).toEqual(['unread'])
  })

  test('keeps rows of a transaction that began before the mark and commits after it', async () => {
    const open = await openTransaction('user:1')
    const mark = await deleteOldTopics(db, undefined)
    await open.commit()
    const next = await deleteOldTopics(db, mark)
    expect(await recorded()).toEqual(['user:1', 'unread'])
    await deleteOldTopics(db, next)
    expect(await recorded()).toEqual(['unread'])
  })

  test('deletes rows even while an older transaction is open', async () => {
    const open = await openTransaction('user:1')
    await invalidate('user:2')
    const mark = await deleteOldTopics(db, undefined)
    await deleteOldTopics(db, mark)
    expect(await recorded()).toEqual(['unread'])
    await open.commit()
    expect(await recorded()).toEqual(['user:1', 'unread'])
  })

  test('makes a node drop all cached values if the node has not read the deleted rows', async () => {
    const [suspended, suspendedLater, awake] = [await reader(), await reader(), await reader()]
    await invalidate('user:1')
    expect(await suspendedLater()).toEqual(['user:1'])
    const mark = await deleteOldTopics(db, undefined)
    expect(await awake()).toEqual(['user:1'])
    const next = await deleteOldTopics(db, mark)
    expect(await awake()).toEqual([])
    // The node has missed no topic, but it cannot know that.
    expect(await suspendedLater()).toEqual([null])
    await deleteOldTopics(db, next)
    expect(await awake()).toEqual([])
    expect(await suspended()).toEqual([null])
  })

  test('deletes nothing until the next mark if the server has lost rows', async () => {
    const mark = await deleteOldTopics(db, undefined)
    await database.sql('truncate invalidations')
    // Simulates a crash after which the server reuses transaction ids: the new row has a lower id than the mark had.
    await database.sql(`insert into invalidations (xid, topics) values ('3', 'user:1')`)
    const next = await deleteOldTopics(db, mark)
    expect(await recorded()).toEqual(['user:1'])
    await deleteOldTopics(db, next)
    expect(await recorded()).toEqual(['unread'])
  })

  test('immediately deletes rows that were copied from another database cluster', async () => {
    const read = await reader()
    await database.sql(`insert into invalidations (xid, topics) values ('9000000000000', 'user:1')`)
    expect(await read()).toEqual(['user:1'])
    await deleteOldTopics(db, undefined)
    expect(await read()).toEqual([])
  })

  test('may run on several nodes concurrently', async () => {
    const nodes = [0, 1, 2, 3]
    const marks = await Promise.all(nodes.map(() => deleteOldTopics(db, undefined)))
    const read = await reader()
    await invalidate('user:1')
    const next = await Promise.all(marks.map((mark) => deleteOldTopics(db, mark)))
    expect(await read()).toEqual(['user:1'])
    await Promise.all(next.map((mark) => deleteOldTopics(db, mark)))
    expect(await read()).toEqual([])
    expect(new Set(await recorded())).toEqual(new Set(['unread']))
  })
})

test('a node reads only new rows in a heartbeat, even with many rows and a long transaction', async () => {
  const open = await openTransaction('user:1')
  const client = listenerClient(database.address)
  await client.connect()
  onTestFinished(() => client.end())
  await database.sql(
    `do $$ begin for n in 1..5000 loop
       insert into invalidations (topics) values ('user:' || n); commit; end loop; end $$`,
  )
  const { snapshot } = await readHeartbeat(client, undefined)
  await database.sql(`insert into invalidations (topics) values ('user:2'), ('user:3')`)
  await open.commit()
  const read = async () => {
    await client.query('select pg_stat_force_next_flush()')
    const [row] = await database.sql<{ rows: number }>(
      `select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_user_tables
       where relname = 'invalidations'`,
    )
    return row?.rows ?? Number.NaN
  }
  const before = await read()
  expect((await readHeartbeat(client, snapshot)).topics).toHaveLength(3)
  expect((await read()) - before).toBe(3)
})
