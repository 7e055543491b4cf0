/** Refuses writes in maintenance mode, even on a node without its listener. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { hearing } from '../../../test/support/change-notifications.ts'
import { atTheEnd } from '../../../test/support/cleanup.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { systemTime } from '../../lib/time.ts'
import { watchChanges } from './changes.ts'
import { ownerClient } from './connection.ts'
import { LOCKS } from './lock-numbers.ts'
import { EVERY_TENANT } from './maintenance.ts'
import { openScopes } from './scope.ts'

const [NORTH, SOUTH] = [101, 102]

let database: TestDatabase
beforeAll(async () => {
  database = await migratedDatabase()
})

/** Enters maintenance mode like a restore. Returns a function that leaves it. */
async function enterMaintenance(tenantId: number): Promise<() => Promise<unknown>> {
  const client = ownerClient(database.address)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('select pg_advisory_lock($1, $2)', [LOCKS.maintenance, tenantId])
  return () => client.query('select pg_advisory_unlock($1, $2)', [LOCKS.maintenance, tenantId])
}

/** The scopes of a node whose listener the test controls. */
function scopes(address = database.address) {
  const heard = hearing()
  const { changes } = heard
  const db = openScopes(address, { clock: systemTime, size: 2, changes, log: silentLog })
  atTheEnd(() => db.close())
  return { db, heard }
}

/** Waits for the expected state, because the node caches a result for one heartbeat interval. */
const says = (what: string, work: () => Promise<unknown> | undefined) =>
  until(`it to be ${what}`, async () => {
    const said = await Promise.resolve(work()).then(
      () => 'open',
      ({ code }) => code,
    )
    return said === what || undefined
  })

test('a node asks the listener about maintenance mode, and does not query the database', async () => {
  const { db, heard } = scopes({ url: 'postgres://nobody@127.0.0.1:1/none' })
  expect(db.requireAvailable(null)).toBeUndefined()
  heard.changes.isInMaintenance = (tenantId) => tenantId === NORTH
  expect(() => db.requireAvailable(NORTH)).toThrow(expect.objectContaining({ code: 'restoring' }))
  expect(db.requireAvailable(SOUTH)).toBeUndefined()
})

test('a node detects the start and end of maintenance mode by queries while it has no listener', async () => {
  const { db, heard } = scopes()
  heard.trusted = false
  const write = (tenantId: number) => db.inTenant(tenantId, async () => 'written')
  expect(await write(NORTH)).toBe('written')
  const leave = await enterMaintenance(NORTH)
  await says('restoring', () => write(NORTH))
  expect(await write(SOUTH)).toBe('written')
  const leaveAll = await enterMaintenance(EVERY_TENANT)
  await says('restoring', () => write(SOUTH))
  await says('restoring', () => db.requireAvailable(null))
  expect(await db.duringMaintenance().inTenant(SOUTH, async () => 'restored')).toBe('restored')
  await Promise.all([leave(), leaveAll()])
  // The result of the query takes precedence over the last heartbeat, which reports maintenance mode.
  heard.changes.isInMaintenance = () => true
  await says('open', () => write(NORTH))
})

test('a node uses the last heartbeat if the database does not respond', async () => {
  const proxy = await proxyTo(database)
  const { db, heard } = scopes({ url: proxy.url })
  heard.trusted = false
  expect(await db.requireAvailable(null)).toBeUndefined()
  proxy.stall()
  heard.changes.isInMaintenance = () => true
  await says('restoring', () => db.requireAvailable(null))
  heard.changes.isInMaintenance = () => false
  expect(await db.requireAvailable(null)).toBeUndefined()
  await proxy.open()
})

test('a node returns a connection to the pool if its query gets no response', async () => {
  const proxy = await proxyTo(database)
  const { db, heard } = scopes({ url: proxy.url })
  heard.trusted = false
  await db.acrossTenants(async () => undefined, 'read')
  proxy.stall()
  // The second query needs the other connection of the pool, which never opens.
  for (let asked = 0; asked < 3; asked += 1) await db.requireAvailable(null)
  expect(db.waiting()).toBe(0)
  await proxy.open()
})

test('a node detects maintenance mode before it trusts a reconnected listener', async () => {
  const proxy = await proxyTo(database)
  const changes = watchChanges({ url: proxy.url }, silentLog, systemTime)
  onTestFinished(() => changes.stop())
  await until('it hears', () => changes.trusted() || undefined)
  proxy.deafen()
  await until('the loss is noticed', () => !changes.trusted() || undefined)
  await enterMaintenance(NORTH)
  expect(changes.isInMaintenance(NORTH)).toBe(false)
  await proxy.open()
  while (!changes.trusted()) await new Promise((resolve) => void setImmediate(resolve))
  expect(changes.isInMaintenance(NORTH)).toBe(true)
})
