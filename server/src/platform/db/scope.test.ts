/** The scope of a transaction: the rows that it can read and change, and the effects of a failure. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { unheard } from '../../../test/sessions/scopes.ts'
import { atTheEnd } from '../../../test/support/cleanup.ts'
import { endingPool, migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { systemTime } from '../../lib/time.ts'
import { alone } from './changes.ts'
import { listenerClient, openPool } from './connection.ts'
import { problemOf } from './failures.ts'
import { forCaller, openScopes, type Scopes } from './scope.ts'
import type { TenantTx } from './transaction.ts'

let database: TestDatabase
let db: Scopes
let announced: string[]
const [NORTH, SOUTH] = [101, 102]

beforeAll(async () => {
  database = await migratedDatabase()
  await database.sql(`insert into tenants (id, name, subdomain) values
    (${NORTH}, 'North', 'north'), (${SOUTH}, 'South', 'south')`)
  db = openScopes(database.address, {
    clock: systemTime,
    size: 4,
    log: silentLog,
    changes: {
      ...alone,
      notify: (topic) => void announced.push(topic),
    },
  })
  // Closes the scopes before the database, because hooks run in reverse order.
  atTheEnd(() => db.close())
})

beforeEach(async () => {
  announced = []
  await database.sql('delete from invalidations')
  await database.sql(`delete from departments`)
  await database.sql(`insert into departments (id, tenant_id, name) overriding system value
    values (1, ${NORTH}, 'one'), (2, ${NORTH}, 'two'), (3, ${SOUTH}, 'three')`)
})

const ids = async (tx: TenantTx) =>
  (await sql<{ id: number }>`select id from departments order by id`.execute(tx.db)).rows.map(
    ({ id }) => id,
  )
const rename = (tx: TenantTx, id: number, name: string) =>
  sql`update departments set name = ${name} where id = ${id}`.execute(tx.db)
const recorded = async () =>
  (await database.sql<{ topics: string }>('select topics from invalidations')).map(
    ({ topics }) => topics,
  )
const nameOf = async (id: number) =>
  (await database.sql('select name from departments where id = $1', [id]))[0]?.name

test('a database scope rejects queries that a caller sends after its transaction failed', async () => {
  const late = Promise.withResolvers<void>()
  let asked: Promise<unknown> | undefined
  const failing = db.acrossTenants(async (tx) => {
    asked = late.promise.then(() => ids(tx))
    throw new Error('not done in time')
  })
  await expect(failing).rejects.toThrow('not done in time')
  late.resolve()
  await expect(asked).rejects.toThrow('the transaction has ended')
})

describe('the rows visible to a transaction', () => {
  test("are limited to the tenant's rows, even without a condition in the query", async () => {
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
    expect(await db.inTenant(SOUTH, ids, 'read')).toEqual([3])
    expect(await db.inTenant(999, ids)).toEqual([])
  })

  test('are all rows if the transaction runs across tenants', async () => {
    expect(await db.acrossTenants(ids)).toEqual([1, 2, 3])
  })

  test('depend on the role of the caller', async () => {
    const as = (role: 'admin' | 'superadmin') =>
      forCaller(db, { role, tenant_id: SOUTH }, ids, 'read')
    expect(await as('admin')).toEqual([3])
    expect(await as('superadmin')).toEqual([1, 2, 3])
  })

  test('are none for a query outside a transaction, before and after a transaction', async () => {
    const pool = endingPool(openPool(database.address, 1))
    const bare = async () => (await pool.query('select id from departments')).rows
    expect(await bare()).toEqual([])
    const client = await pool.connect()
    await client.query(`begin; set local wardkeep.tenant_id = '${NORTH}'`)
    expect((await client.query('select id from departments')).rows).toHaveLength(2)
    await client.query('commit')
    client.release()
    expect(await bare()).toEqual([])
  })

  test('are the only rows that it can change, and it cannot create rows of another tenant', async () => {
    const changed = await db.inTenant(SOUTH, (tx) => rename(tx, 1, 'stolen'))
    expect(changed.numAffectedRows).toBe(0n)
    await expect(
      db.inTenant(SOUTH, (tx) =>
        sql`insert into departments (tenant_id, name) values (${NORTH}, 'planted')`.execute(tx.db),
      ),
    ).rejects.toThrow('row-level security')
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
  })

  test.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "1'; reset role; --", undefined])(
    'are not even requested for the tenant ID %s, and no connection is lost',
    async (id) => {
      for (let times = 0; times < 6; times++)
        await expect(db.inTenant(id as number, ids)).rejects.toThrow(
          'a tenant id must be an integer',
        )
      expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
    },
  )
})

describe('a transaction', () => {
  test('cannot write in read mode', async () => {
    await expect(db.inTenant(NORTH, (tx) => rename(tx, 1, 'x'), 'read')).rejects.toMatchObject({
      code: '25006',
    })
    await expect(db.acrossTenants((tx) => rename(tx, 1, 'x'), 'read')).rejects.toMatchObject({
      code: '25006',
    })
    expect(await nameOf(1)).toBe('one')
  })

  test('writes nothing, notifies no node and keeps its connection when it fails', async () => {
    const followed: string[] = []
    for (let times = 0; times < 6; times++)
      await expect(
        db.inTenant(NORTH, async (tx) => {
          tx.invalidate('department:1')
          tx.notify('journal')
          tx.afterCommit(() => void followed.push('followed'))
          await rename(tx, 1, 'gone')
          throw new Error('changed my mind')
        }),
      ).rejects.toThrow('changed my mind')
    expect(await nameOf(1)).toBe('one')
    expect([await recorded(), announced, followed]).toEqual([[], [], []])
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
  })

  test('rejects queries after its end, because they would belong to no tenant', async () => {
    const late = (tx: TenantTx) => {
      tx.end()
      return ids(tx)
    }
    await expect(db.inTenant(NORTH, late, 'read')).rejects.toThrow('the transaction has ended')
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
  })

  test('returns the rows of statements that were sent before its end', async () => {
    const early = (tx: TenantTx) => {
      const sent = tx.sendFor<{ id: number }>(
        sql`select id from departments order by id`.compile(tx.db),
      )
      tx.end()
      return sent.rows
    }
    expect(await db.inTenant(NORTH, early, 'read')).toEqual([{ id: 1 }, { id: 2 }])
  })

  test('fails if a query failed, even if the caller ignored the error', async () => {
    await expect(
      db.inTenant(NORTH, async (tx) => {
        await rename(tx, 1, 'half')
        await sql`select 1/0`.execute(tx.db).catch(() => undefined)
      }),
    ).rejects.toThrow('the transaction was rolled back')
    expect(await nameOf(1)).toBe('one')
    expect(announced).toEqual([])
  })

  test('records the topics that it invalidates, and notifies other nodes only after the commit', async () => {
    const received: string[] = []
    const seen: Promise<unknown>[] = []
    const listener = await endingPool(openPool(database.address, 1)).connect()
    atTheEnd(() => listener.release())
    listener.on('notification', ({ payload }) => void received.push(payload ?? ''))
    await listener.query('listen wardkeep_changes')
    await db.inTenant(NORTH, async (tx) => {
      tx.invalidate('department:1', "session:'5")
      tx.invalidate('department:1')
      tx.afterCommit(() => void seen.push(nameOf(1)))
      await rename(tx, 1, 'new')
      expect([await recorded(), announced, seen]).toEqual([[], [], []])
    })
    expect(await recorded()).toEqual(["department:1 session:'5"])
    expect(announced).toEqual(['department:1', "session:'5"])
    // A notification by the commit itself would arrive before this response.
    await listener.query('select 1')
    expect(received).toEqual([])
    expect(await Promise.all(seen)).toEqual(['new'])
  })

  test('records any number of topics', async () => {
    const topics = Array.from({ length: 1_000 }, (_, at) => `department:${10 ** 9 + at}` as const)
    await db.inTenant(NORTH, async (tx) => {
      tx.invalidate(...topics)
      await rename(tx, 1, 'one of many')
    })
    expect([await recorded(), await nameOf(1)]).toEqual([[topics.join(' ')], 'one of many'])
  })

  test('records the topics of work across tenants', async () => {
    await db.acrossTenants(async (tx) => tx.invalidate('keys'))
    expect(await recorded()).toEqual(['keys'])
  })

  test('notifies once per topic after the commit, and not as part of the commit', async () => {
    const received: string[] = []
    const listener = listenerClient(database.address)
    await listener.connect()
    listener.on('notification', ({ payload }) => void received.push(payload ?? ''))
    await listener.query('listen wardkeep_changes')
    await db.inTenant(NORTH, async (tx) => {
      tx.notify('journal', 'due')
      tx.notify('journal')
      await rename(tx, 1, 'announced')
      expect(announced).toEqual([])
    })
    expect([await recorded(), announced]).toEqual([[], ['journal', 'due']])
    // A notification by the commit itself would arrive before this response.
    await listener.query('select 1')
    expect(received).toEqual([])
    await listener.end()
  })

  test('writes nothing if a value cannot be encoded', async () => {
    const endless: Record<string, unknown> = {}
    endless.self = endless
    await expect(
      db.inTenant(NORTH, async (tx) => {
        tx.send(sql`update departments set name = 'half' where id = 1`.compile(tx.db))
        tx.send(sql`select ${endless}::json`.compile(tx.db))
      }),
    ).rejects.toThrow('circular')
    expect(await nameOf(1)).toBe('one')
  })

  test('is retried after it lost a deadlock, so that both transactions complete', async () => {
    let runs = 0
    let waiting = 0
    const { promise: met, resolve: meet } = Promise.withResolvers<void>()
    const cross = (first: number, second: number) =>
      db.inTenant(NORTH, async (tx) => {
        runs += 1
        await rename(tx, first, `first ${first}`)
        // Each transaction locks its first row before either requests the other transaction's row.
        waiting += 1
        if (waiting === 2) meet()
        await met
        await rename(tx, second, `second after ${first}`)
        tx.invalidate(`department:${first}`)
      })
    await Promise.all([cross(1, 2), cross(2, 1)])
    expect(runs).toBeGreaterThan(2)
    // The attempt that lost the deadlock has notified no node.
    expect(announced.sort()).toEqual(['department:1', 'department:2'])
  })

  test('is retried on another connection after a table change', async () => {
    const everything = (tx: TenantTx) =>
      sql<object>`select * from departments where id = 1`.execute(tx.db)
    // All connections have prepared the statement, and none of them can run it any more.
    const prepare = () => Promise.all([1, 2, 3, 4].map(() => db.inTenant(NORTH, everything)))
    await prepare()
    await database.sql('alter table departments add column of_tomorrow text')
    try {
      for (const { rows } of await prepare())
        expect(rows).toEqual([expect.objectContaining({ name: 'one', of_tomorrow: null })])
      let runs = 0
      await db.inTenant(NORTH, async (tx) => {
        runs += 1
        await everything(tx)
        await rename(tx, 1, `run ${runs}`)
      })
      expect([runs, await nameOf(1)]).toEqual([1, 'run 1'])
    } finally {
      await database.sql('alter table departments drop column of_tomorrow')
    }
  })

  test('commits and returns its value even if follow-up work throws', async () => {
    const done: string[] = []
    const answer = await db.inTenant(NORTH, async (tx) => {
      await rename(tx, 1, 'kept')
      tx.afterCommit(() => {
        throw new Error('on purpose')
      })
      tx.afterCommit(() => void done.push('the next'))
      return 'answered'
    })
    expect([answer, await nameOf(1), done]).toEqual(['answered', 'kept', ['the next']])
  })

  test('fails after it has lost three races', async () => {
    let runs = 0
    await expect(
      db.inTenant(NORTH, async (tx) => {
        runs += 1
        await sql`do $$ begin raise exception 'lost' using errcode = '40001'; end $$`.execute(tx.db)
      }),
    ).rejects.toMatchObject({ code: '40001' })
    expect(runs).toBe(3)
  })

  test('reports an unreachable database if its connection is lost, and the next transaction succeeds', async () => {
    for (let times = 0; times < 5; times++) {
      const error = await db
        .inTenant(NORTH, async (tx) => {
          await rename(tx, 1, 'lost')
          const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.db)
          // Terminates the connection while it is idle, so that no running query fails.
          await database.sql('select pg_terminate_backend($1, 10000)', [rows[0]?.pid])
          await rename(tx, 1, 'never')
        })
        .catch((thrown: unknown) => thrown)
      expect(problemOf(error)).toMatchObject({ code: 'database_away' })
    }
    expect(announced).toEqual([])
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
    expect(await nameOf(1)).toBe('one')
  })

  test("waits for a statement until the statement's time limit", async () => {
    const error = await db
      .inTenant(NORTH, async (tx) => {
        await tx.sendFor({ ...sql`select pg_sleep(20)`.compile(tx.db), waitMs: 50 }).rows
      })
      .catch((thrown: unknown) => thrown)
    expect(problemOf(error)).toMatchObject({ code: 'database_away' })
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
  })

  test('waits for a connection when all are in use, and returns every connection', async () => {
    const all = Array.from({ length: 40 }, () => db.inTenant(NORTH, ids))
    for (const found of await Promise.all(all)) expect(found).toEqual([1, 2])
  })
})

test('a ping measures the time of a database round trip', async () => {
  expect(await db.ping()).toEqual({ latencyMs: expect.any(Number), isReadOnly: false })
})

test('a database scope counts callers that wait for a connection', async () => {
  const one = openScopes(database.address, {
    clock: systemTime,
    size: 1,
    log: silentLog,
    changes: unheard,
  })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const first = one.inTenant(NORTH, () => held)
  expect(one.waiting()).toBe(0)
  const second = one.inTenant(NORTH, ids)
  expect(one.waiting()).toBe(1)
  release()
  await Promise.all([first, second])
  expect(one.waiting()).toBe(0)
  await one.close()
})
