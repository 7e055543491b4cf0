/** Tests transactions that block a consumer: those of this database, and briefly those of other databases. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { scopesOf } from '../../../test/sessions/scopes.ts'
import { eventually } from '../../../test/sessions/users.ts'
import {
  databaseOn,
  emptyDatabase,
  migratedDatabase,
  type TestDatabase,
} from '../../../test/support/database.ts'
import { started } from '../../../test/support/embedded.ts'
import { scratch } from '../../../test/support/scratch.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { ownerClient } from '../db/connection.ts'
import type { Scopes } from '../db/index.ts'
import { migrate } from '../schema/migrate.ts'
import { append, SYSTEM } from './append.ts'
import { findHorizon } from './horizon.ts'
import { follow } from './index.ts'

const HOUR = 3_600_000

let database: TestDatabase
let db: Scopes

beforeEach(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

/** Opens a transaction that has an id. Returns the id and a function that ends the transaction. */
async function running({ address }: TestDatabase) {
  const client = ownerClient(address)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  const { rows } = await client.query<{ xid: string }>('select pg_current_xact_id()::text as xid')
  return { xid: BigInt(rows[0]?.xid ?? 0), end: () => client.query('commit') }
}

/** Waits until the horizon is as expected, because PostgreSQL's own maintenance may delay it for a moment. */
const reaches = (wanted: (xid: bigint) => boolean, of = db) =>
  eventually(async () => BigInt((await findHorizon(of)).xid), wanted)

const write = (word: string, to = db) =>
  to.acrossTenants((tx) =>
    append(tx, SYSTEM, {
      action: 'tenant.updated',
      tenant_id: null,
      resource_type: 'word',
      resource_id: word,
    }),
  )

/** Starts a follower. Returns the entries it has read and the number of its polls. */
function watched() {
  const seen: string[] = []
  let looks = 0
  const counted: Scopes = {
    ...db,
    acrossTenants: (...args) => {
      looks += 1
      return db.acrossTenants(...args)
    },
  }
  const follower = follow(counted, silentLog, {
    name: 'horizon',
    pollMs: 50,
    handle: async (_tx, entries) => {
      for (const { resource_id } of entries) seen.push(String(resource_id))
    },
  })
  onTestFinished(() => follower.stop())
  return { seen, looks: () => looks }
}

describe('a running transaction of another database', () => {
  test('delays neither existing nor later journal entries for long', async () => {
    const other = await running(await emptyDatabase())
    await write('first')
    const { seen } = watched()
    await eventually(
      () => seen.length,
      (count) => count === 1,
      20_000,
    )
    await write('second')
    await eventually(
      () => seen.length,
      (count) => count === 2,
      20_000,
    )
    await other.end()
    await write('third')
    await eventually(
      () => seen.length,
      (count) => count === 3,
      20_000,
    )
    expect(seen).toEqual(['first', 'second', 'third'])
  })

  test('is ignored, so that journal entries written after its start can be read', async () => {
    const other = await running(await emptyDatabase())
    await write('behind it')
    await reaches((xid) => xid > other.xid)
    expect(await findHorizon(db)).toMatchObject({ isFurther: true })
  })
})

describe('a running transaction of this database', () => {
  test('is never ignored, even while transactions of other databases run', async () => {
    const elsewhere = await emptyDatabase()
    await running(elsewhere)
    const ours = await running(database)
    await running(elsewhere)
    const younger = await running(database)
    await write('behind all of them')
    await reaches((xid) => xid === ours.xid)
    await ours.end()
    await reaches((xid) => xid === younger.xid)
  })

  test('delays journal entries as long as it runs, even beside a transaction of another database', async () => {
    await running(await emptyDatabase())
    const ours = await running(database)
    await write('behind it')
    const { seen, looks } = watched()
    const more = () => {
      const before = looks()
      return eventually(looks, (count) => count > before + 5)
    }
    // Waits until there is a transaction to skip and the consumer has been blocked for long.
    await eventually(
      () => findHorizon(db),
      ({ isFurther }) => isFurther,
    )
    await more()
    const { now } = performance
    const clock = vi
      .spyOn(performance, 'now')
      .mockImplementation(() => now.call(performance) + HOUR)
    onTestFinished(() => clock.mockRestore())
    await more()
    expect(seen).toEqual([])
    await ours.end()
    await eventually(
      () => seen.length,
      (count) => count === 1,
      20_000,
    )
  })
})

describe('a prepared transaction', () => {
  test('delays only the consumers of the database in which it was prepared', async () => {
    const server = await started(await scratch(), { max_prepared_transactions: '2' })
    await migrate(server.connection, silentLog)
    const own = databaseOn(server.connection)
    const ring = scopesOf(own)
    const prepared = async (name: string, { address }: TestDatabase) => {
      const client = ownerClient(address)
      await client.connect()
      await client.query('begin')
      const { rows } = await client.query<{ xid: string }>(
        'select pg_current_xact_id()::text as xid',
      )
      await client.query(`prepare transaction '${name}'`)
      await client.end()
      return BigInt(rows[0]?.xid ?? 0)
    }
    const elsewhere = databaseOn({ ...server.connection, database: 'postgres' })
    const theirs = await prepared('theirs', elsewhere)
    await write('behind it', ring)
    await reaches((xid) => xid > theirs, ring)
    const ours = await prepared('ours', own)
    await write('behind both', ring)
    await reaches((xid) => xid === ours, ring)
    await own.sql("rollback prepared 'ours'")
    await reaches((xid) => xid > ours, ring)
    await elsewhere.sql("rollback prepared 'theirs'")
  })
})
