/** The scope of a transaction: what it sees, what it may, and what becomes of it when it fails. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { unheard } from '../../../test/sessions/scopes.ts'
import { atTheEnd } from '../../../test/support/at-the-end.ts'
import { endingPool, migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { systemTime } from '../../lib/time.ts'
import { listenerClient, openPool } from './connection.ts'
import { problemOf } from './failures.ts'
import { forCaller, openScopes, type Scopes } from './scope.ts'
import type { TenantTx } from './transaction.ts'

let database: TestDatabase
let db: Scopes
let emitted: string[][]
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
      invalidate: (topics) => void emitted.push([...topics]),
      notify: (topic) => void announced.push(topic),
      subscribe: () => () => undefined,
      trusted: () => true,
      isClosed: () => false,
      stop: async () => undefined,
    },
  })
  // Before the database goes: hooks run in the opposite order of their making.
  atTheEnd(() => db.close())
})

beforeEach(async () => {
  emitted = []
  announced = []
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
const nameOf = async (id: number) =>
  (await database.sql('select name from departments where id = $1', [id]))[0]?.name

test('what goes on behind a failure asks nothing any more', async () => {
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

describe('what is seen', () => {
  test('in a tenant is its rows alone, although the query says nothing of it', async () => {
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
    expect(await db.inTenant(SOUTH, ids, 'read')).toEqual([3])
    expect(await db.inTenant(999, ids)).toEqual([])
  })

  test('across tenants is all rows', async () => {
    expect(await db.acrossTenants(ids)).toEqual([1, 2, 3])
  })

  test('by a caller is what their role allows', async () => {
    const as = (role: 'admin' | 'superadmin') =>
      forCaller(db, { role, tenant_id: SOUTH }, ids, 'read')
    expect(await as('admin')).toEqual([3])
    expect(await as('superadmin')).toEqual([1, 2, 3])
  })

  test('by a query without a transaction of ours is nothing, before and after one had the connection', async () => {
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

  test('of another tenant can be neither changed nor made', async () => {
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
    'is nothing for the tenant id %s, which is refused, and no connection is lost',
    async (id) => {
      for (let times = 0; times < 6; times++)
        await expect(db.inTenant(id as number, ids)).rejects.toThrow('a tenant id is an integer')
      expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
    },
  )
})

describe('a transaction', () => {
  test('to read cannot write', async () => {
    await expect(db.inTenant(NORTH, (tx) => rename(tx, 1, 'x'), 'read')).rejects.toMatchObject({
      code: '25006',
    })
    await expect(db.acrossTenants((tx) => rename(tx, 1, 'x'), 'read')).rejects.toMatchObject({
      code: '25006',
    })
    expect(await nameOf(1)).toBe('one')
  })

  test('that fails leaves nothing, tells nobody, and its connection goes on', async () => {
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
    expect([emitted, announced, followed]).toEqual([[], [], []])
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
  })

  test('that was ended asks no more, as that would be in no scope', async () => {
    const late = (tx: TenantTx) => {
      tx.end()
      return ids(tx)
    }
    await expect(db.inTenant(NORTH, late, 'read')).rejects.toThrow('the transaction has ended')
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
  })

  test('answers what it had sent before it was ended', async () => {
    const early = (tx: TenantTx) => {
      const sent = tx.sendFor<{ id: number }>(
        sql`select id from departments order by id`.compile(tx.db),
      )
      tx.end()
      return sent.rows
    }
    expect(await db.inTenant(NORTH, early, 'read')).toEqual([{ id: 1 }, { id: 2 }])
  })

  test('whose failed query was swallowed is not taken for a success', async () => {
    await expect(
      db.inTenant(NORTH, async (tx) => {
        await rename(tx, 1, 'half')
        await sql`select 1/0`.execute(tx.db).catch(() => undefined)
      }),
    ).rejects.toThrow('the transaction was rolled back')
    expect(await nameOf(1)).toBe('one')
    expect(emitted).toEqual([])
  })

  test('says what it made stale once it has committed, to this node and to the others', async () => {
    const heard: string[] = []
    const seen: Promise<unknown>[] = []
    const listener = await endingPool(openPool(database.address, 1)).connect()
    atTheEnd(() => listener.release())
    listener.on('notification', ({ payload }) => void heard.push(payload ?? ''))
    await listener.query('listen wardkeep_changes')
    await db.inTenant(NORTH, async (tx) => {
      tx.invalidate('department:1', "session:'5")
      tx.invalidate('department:1')
      tx.afterCommit(() => void seen.push(nameOf(1)))
      await rename(tx, 1, 'new')
      await listener.query('select 1')
      expect([emitted, heard, seen]).toEqual([[], [], []])
    })
    expect(emitted).toEqual([['department:1', "session:'5"]])
    await listener.query('select 1')
    expect(heard).toEqual(["department:1 session:'5"])
    expect(await Promise.all(seen)).toEqual(['new'])
  })

  test('tells of any number of topics, more than one notification holds', async () => {
    const heard: string[] = []
    const listener = listenerClient(database.address)
    await listener.connect()
    listener.on('notification', ({ payload }) => void heard.push(...(payload ?? '').split(' ')))
    await listener.query('listen wardkeep_changes')
    const topics = Array.from({ length: 1_000 }, (_, at) => `department:${10 ** 9 + at}` as const)
    await db.inTenant(NORTH, async (tx) => {
      tx.invalidate(...topics)
      await rename(tx, 1, 'one of many')
    })
    expect([emitted, await nameOf(1)]).toEqual([[topics], 'one of many'])
    // What the commit has notified of comes before this answer.
    await listener.query('select 1')
    expect(heard).toEqual(topics)
    await listener.end()
  })

  test('announces work once it has committed, each topic once, and notifies nobody by itself', async () => {
    const heard: string[] = []
    const listener = listenerClient(database.address)
    await listener.connect()
    listener.on('notification', ({ payload }) => void heard.push(payload ?? ''))
    await listener.query('listen wardkeep_changes')
    await db.inTenant(NORTH, async (tx) => {
      tx.notify('journal', 'due')
      tx.notify('journal')
      await rename(tx, 1, 'announced')
      expect(announced).toEqual([])
    })
    expect([emitted, announced]).toEqual([[[]], ['journal', 'due']])
    // What the commit had notified of would come before this answer.
    await listener.query('select 1')
    expect(heard).toEqual([])
    await listener.end()
  })

  test('with a value that cannot be sent leaves nothing', async () => {
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

  test('that lost a deadlock runs again, and both come to their end', async () => {
    let runs = 0
    let waiting = 0
    const { promise: met, resolve: meet } = Promise.withResolvers<void>()
    const cross = (first: number, second: number) =>
      db.inTenant(NORTH, async (tx) => {
        runs += 1
        await rename(tx, first, `first ${first}`)
        // Each has its first row before either asks for the other's.
        waiting += 1
        if (waiting === 2) meet()
        await met
        await rename(tx, second, `second after ${first}`)
        tx.invalidate(`department:${first}`)
      })
    await Promise.all([cross(1, 2), cross(2, 1)])
    expect(runs).toBeGreaterThan(2)
    // The run that was lost has said nothing.
    expect(emitted.flat().sort()).toEqual(['department:1', 'department:2'])
  })

  test('that meets a changed table runs again on a connection that has prepared nothing', async () => {
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

  test('is committed and answered, whatever those throw who hear of it', async () => {
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

  test('that loses every time gives up after three runs', async () => {
    let runs = 0
    await expect(
      db.inTenant(NORTH, async (tx) => {
        runs += 1
        await sql`do $$ begin raise exception 'lost' using errcode = '40001'; end $$`.execute(tx.db)
      }),
    ).rejects.toMatchObject({ code: '40001' })
    expect(runs).toBe(3)
  })

  test('whose connection is lost midway is one of a database that is away, and the next has another', async () => {
    for (let times = 0; times < 5; times++) {
      const error = await db
        .inTenant(NORTH, async (tx) => {
          await rename(tx, 1, 'lost')
          const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.db)
          // Ended while it waits for nothing, so that no query is there to fail.
          await database.sql('select pg_terminate_backend($1, 10000)', [rows[0]?.pid])
          await rename(tx, 1, 'never')
        })
        .catch((thrown: unknown) => thrown)
      expect(problemOf(error)).toMatchObject({ code: 'database_away' })
    }
    expect(emitted).toEqual([])
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
    expect(await nameOf(1)).toBe('one')
  })

  test('waits for the answer of a statement as long as that says', async () => {
    const error = await db
      .inTenant(NORTH, async (tx) => {
        await tx.sendFor({ ...sql`select pg_sleep(20)`.compile(tx.db), waitMs: 50 }).rows
      })
      .catch((thrown: unknown) => thrown)
    expect(problemOf(error)).toMatchObject({ code: 'database_away' })
    expect(await db.inTenant(NORTH, ids)).toEqual([1, 2])
  })

  test('waits for a connection when all are taken, and every one comes back', async () => {
    const all = Array.from({ length: 40 }, () => db.inTenant(NORTH, ids))
    for (const found of await Promise.all(all)) expect(found).toEqual([1, 2])
  })
})

test('a ping tells how long a round trip takes', async () => {
  expect(await db.ping()).toBeGreaterThan(0)
})

test('who waits for a connection is counted', async () => {
  const one = openScopes(database.address, {
    clock: systemTime,
    size: 1,
    log: silentLog,
    changes: unheard,
  })
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const first = one.inTenant(NORTH, () => held)
  expect(one.waiting()).toBe(0)
  const second = one.inTenant(NORTH, ids)
  expect(one.waiting()).toBe(1)
  letGo()
  await Promise.all([first, second])
  expect(one.waiting()).toBe(0)
  await one.close()
})
