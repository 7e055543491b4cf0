/** Transactions and caches while connections lead to a server that the listener does not trust. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hearing } from '../../../test/support/change-notifications.ts'
import { atTheEnd } from '../../../test/support/cleanup.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { frozenClock } from '../../../test/support/time.ts'
import { systemTime, type Time } from '../../lib/time.ts'
import { coherentCache } from './coherent-cache.ts'
import { listenerClient } from './connection.ts'
import { problemOf } from './failures.ts'
import type { ServerIdentity } from './first-message.ts'
import { openScopes, type Scopes } from './scope.ts'
import type { TenantTx } from './transaction.ts'

const NORTH = 1

let database: TestDatabase
/** The only real server, and a server that the listener may claim to use. */
let here: ServerIdentity
let elsewhere: ServerIdentity
/** The server of the listener, and the server that the listener finds when it checks the address. */
let trusted: ServerIdentity | undefined
let found: ServerIdentity
let rechecks = 0

beforeAll(async () => {
  database = await migratedDatabase()
  await database.sql(
    `insert into tenants (id, name, subdomain) values (${NORTH}, 'North', 'north')`,
  )
  const client = listenerClient(database.address)
  await client.connect()
  here = client.introduction.server
  elsewhere = { ...here, timeline: '0000000F' }
  await client.end()
})

beforeEach(async () => {
  await database.sql('delete from departments')
  await database.sql(`insert into departments (id, tenant_id, name) values (1, ${NORTH}, 'one')`)
  trusted = here
  found = here
  rechecks = 0
})

function opened(clock: Time = systemTime) {
  const heard = hearing()
  const move = (server: ServerIdentity | undefined) => {
    trusted = server
    heard.missed()
  }
  const changes = {
    ...heard.changes,
    server: () => trusted,
    async recheck() {
      rechecks += 1
      if (trusted !== found) move(found)
    },
  }
  const db = openScopes(database.address, { clock, size: 2, log: silentLog, changes })
  atTheEnd(() => db.close())
  return { db, changes, move }
}

const pidOf = async (tx: TenantTx) =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.db)).rows[0]?.pid
const nameOf = async (tx: TenantTx) =>
  (await sql<{ name: string }>`select name from departments`.execute(tx.db)).rows[0]?.name
const rename = (tx: TenantTx, name: string) =>
  sql`update departments set name = ${name}`.execute(tx.db)
const name = async () => (await database.sql('select name from departments'))[0]?.name
const codeOf = (failing: Promise<unknown>) =>
  failing.then(
    () => 'none',
    (error) => problemOf(error)?.code,
  )
const raise = (tx: TenantTx, code: string) =>
  sql
    .raw(`do $$ begin raise exception 'on purpose' using errcode = '${code}'; end $$`)
    .execute(tx.db)

describe('the connection pool', () => {
  test("closes a connection to another server than the listener's, and has the listener check the address", async () => {
    const { db } = opened()
    trusted = elsewhere
    expect(await db.inTenant(NORTH, nameOf, 'read')).toBe('one')
    expect(rechecks).toBe(1)
  })

  test('returns 503 after the address has led to another server for 5 s', async () => {
    const clock = frozenClock()
    const { db, changes } = opened(clock)
    trusted = elsewhere
    found = elsewhere
    const { recheck } = changes
    changes.recheck = async () => {
      clock.elapse(2_000)
      await recheck()
    }
    expect(await codeOf(db.inTenant(NORTH, nameOf, 'read'))).toBe('database_away')
    expect(rechecks).toBe(3)
  })

  test('returns 503 within 5 s even if the listener still checks the address', async () => {
    const clock = frozenClock()
    const { db, changes } = opened(clock)
    trusted = elsewhere
    const checked = Promise.withResolvers<void>()
    changes.recheck = () => {
      clock.elapse(4_990)
      return checked.promise
    }
    expect(await codeOf(db.inTenant(NORTH, nameOf, 'read'))).toBe('database_away')
    checked.resolve()
  })

  test('uses any server that can write while no listener is connected', async () => {
    const { db, move } = opened()
    move(undefined)
    expect(await db.inTenant(NORTH, nameOf, 'read')).toBe('one')
    expect(rechecks).toBe(0)
  })

  test('closes busy and idle connections as soon as the listener moves to another server', async () => {
    const { db, move } = opened()
    const pids = await Promise.all([1, 2].map(() => db.inTenant(NORTH, pidOf, 'read')))
    const lost = db.inTenant(NORTH, async (tx) => {
      move(elsewhere)
      await sql`select pg_sleep(10)`.execute(tx.db)
    })
    expect(await codeOf(lost)).toBe('database_away')
    const again = await db.inTenant(NORTH, pidOf, 'read')
    expect(pids).not.toContain(again)
  })
})

describe('a transaction during which the listener moves to another server', () => {
  test('is repeated once if it only reads', async () => {
    const { db, move } = opened()
    let runs = 0
    const read = async (tx: TenantTx) => {
      runs += 1
      const read = await nameOf(tx)
      if (runs === 1) move(elsewhere)
      return `${read} of run ${runs}`
    }
    expect(await db.inTenant(NORTH, read, 'read')).toBe('one of run 2')
  })

  test('fails like a transaction with a lost commit acknowledgement if it writes', async () => {
    const { db, changes, move } = opened()
    let runs = 0
    const received: unknown[] = []
    changes.subscribe((topic) => void received.push(topic))
    const write = async (tx: TenantTx) => {
      runs += 1
      tx.invalidate('department:1')
      await rename(tx, 'two')
      move(elsewhere)
    }
    expect(await codeOf(db.inTenant(NORTH, write))).toBe('database_away')
    expect([runs, received]).toEqual([1, [null]])
  })
})

describe('the cache', () => {
  const cacheOn = (db: Scopes, { changes }: ReturnType<typeof opened>, during: () => void) =>
    coherentCache<number, string>(changes, {
      load: (tenantId) =>
        db.inTenant(
          tenantId,
          async (tx) => {
            const value = await nameOf(tx)
            during()
            return value
          },
          'read',
        ),
      keyOf: () => undefined,
      labelsOf: () => [],
      labelKinds: [],
      tenantKinds: [],
      maxEntries: 10,
    })

  test("stores a value that was read from the listener's server", async () => {
    const at = opened()
    const cache = cacheOn(at.db, at, () => undefined)
    expect(await cache.get(NORTH, 1)).toBe('one')
    expect(cache.has(NORTH, 1)).toBe(true)
  })

  test.each([
    ['another server', () => elsewhere],
    ['the same server again', () => here],
  ])('drops a value whose read ended after the listener connected to %s', async (_, server) => {
    const at = opened()
    let reads = 0
    const cache = cacheOn(at.db, at, () => {
      reads += 1
      if (reads === 1) at.move(server())
    })
    expect(await cache.get(NORTH, 1)).toBe('one')
    expect(cache.has(NORTH, 1)).toBe(false)
  })
})

describe('a transaction that its server refuses', () => {
  test('runs again on another connection if the server is read-only', async () => {
    const { db } = opened()
    const pids: unknown[] = []
    const write = async (tx: TenantTx) => {
      pids.push(await pidOf(tx))
      if (pids.length === 1) await raise(tx, '25006')
      await rename(tx, 'two')
    }
    await db.inTenant(NORTH, write)
    expect([pids.length, new Set(pids).size, await name()]).toEqual([2, 2, 'two'])
    expect(db.canWrite()).toBe(true)
  })

  test('returns 503 if the server is still read-only', async () => {
    const { db } = opened()
    let runs = 0
    const write = (tx: TenantTx) => {
      runs += 1
      return raise(tx, '25006')
    }
    expect(await codeOf(db.inTenant(NORTH, write))).toBe('database_away')
    expect([runs, db.canWrite()]).toEqual([2, false])
    await db.inTenant(NORTH, (tx) => rename(tx, 'two'))
    expect(db.canWrite()).toBe(true)
  })

  test.each(['26000', '42P05'])(
    'closes the connection on %s, because another client used its session',
    async (code) => {
      const { db } = opened()
      let pid: unknown
      const read = async (tx: TenantTx) => {
        pid = await pidOf(tx)
        await raise(tx, code)
      }
      expect(await codeOf(db.inTenant(NORTH, read))).toBe('database_away')
      expect(await db.inTenant(NORTH, pidOf)).not.toBe(pid)
    },
  )
})
