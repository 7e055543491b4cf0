/** Closed is closed, also for a node that hears nothing. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { atTheEnd } from '../../../test/support/at-the-end.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { hearing } from '../../../test/support/hearing.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { EVERY_TENANT, watchChanges } from './changes.ts'
import { ownerClient } from './connection.ts'
import { LOCKS } from './lock-numbers.ts'
import { openScopes } from './scope.ts'

const [NORTH, SOUTH] = [101, 102]

let database: TestDatabase
beforeAll(async () => {
  database = await migratedDatabase()
})

/** Closes as a restore does. Returns how to open again. */
async function close(tenantId: number): Promise<() => Promise<unknown>> {
  const client = ownerClient(database.address)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('select pg_advisory_lock($1, $2)', [LOCKS.closed, tenantId])
  return () => client.query('select pg_advisory_unlock($1, $2)', [LOCKS.closed, tenantId])
}

/** The scopes of a node that hears what the test says, and nothing else. */
function scopes(address = database.address) {
  const heard = hearing()
  const { changes } = heard
  const db = openScopes(address, { size: 2, changes, log: silentLog })
  atTheEnd(() => db.close())
  return { db, heard }
}

/** Waits until it is said: what was asked for is known for a sign of life. */
const says = (what: string, work: () => Promise<unknown> | undefined) =>
  until(`it to be ${what}`, async () => {
    const said = await Promise.resolve(work()).then(
      () => 'open',
      ({ code }) => code,
    )
    return said === what || undefined
  })

test('what is heard is believed at once, and the database is not asked', async () => {
  const { db, heard } = scopes({ url: 'postgres://nobody@127.0.0.1:1/none' })
  expect(db.requireOpen(null)).toBeUndefined()
  heard.changes.isClosed = (tenantId) => tenantId === NORTH
  expect(() => db.requireOpen(NORTH)).toThrow(expect.objectContaining({ code: 'restoring' }))
  expect(db.requireOpen(SOUTH)).toBeUndefined()
})

test('who hears nothing asks: for the tenant, for all, and whether it is open again', async () => {
  const { db, heard } = scopes()
  heard.trusted = false
  const write = (tenantId: number) => db.inTenant(tenantId, async () => 'written')
  expect(await write(NORTH)).toBe('written')
  const open = await close(NORTH)
  await says('restoring', () => write(NORTH))
  expect(await write(SOUTH)).toBe('written')
  const openAll = await close(EVERY_TENANT)
  await says('restoring', () => write(SOUTH))
  await says('restoring', () => db.requireOpen(null))
  expect(await db.whileClosed().inTenant(SOUTH, async () => 'restored')).toBe('restored')
  await Promise.all([open(), openAll()])
  // What it heard last says otherwise.
  heard.changes.isClosed = () => true
  await says('open', () => write(NORTH))
})

test('a database that is silent is not waited for: what was heard last counts', async () => {
  const proxy = await proxyTo(database)
  const { db, heard } = scopes({ url: proxy.url })
  heard.trusted = false
  expect(await db.requireOpen(null)).toBeUndefined()
  proxy.stall()
  heard.changes.isClosed = () => true
  await says('restoring', () => db.requireOpen(null))
  heard.changes.isClosed = () => false
  expect(await db.requireOpen(null)).toBeUndefined()
  await proxy.open()
})

test('a listener that is back knows of a closing before it is trusted', async () => {
  const proxy = await proxyTo(database)
  const changes = watchChanges({ url: proxy.url }, silentLog)
  onTestFinished(() => changes.stop())
  await until('it hears', () => changes.trusted() || undefined)
  proxy.deafen()
  await until('the loss is noticed', () => !changes.trusted() || undefined)
  await close(NORTH)
  expect(changes.isClosed(NORTH)).toBe(false)
  await proxy.open()
  while (!changes.trusted()) await new Promise((resolve) => void setImmediate(resolve))
  expect(changes.isClosed(NORTH)).toBe(true)
})
