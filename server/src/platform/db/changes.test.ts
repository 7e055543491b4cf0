/** What one node tells the others, and when a node must not believe what it holds. */
import { expect, test } from 'vitest'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/embedded.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { CHANNEL, type Topic, watchChanges } from './changes.ts'

async function node() {
  const database = await migratedDatabase()
  const changes = watchChanges(database.address, silentLog)
  const heard: (Topic | null)[] = []
  changes.subscribe((topic) => void heard.push(topic))
  const trusts = () => until('the node hears the others', () => changes.trusted() || undefined)
  await trusts()
  return { database, changes, heard, trusts }
}

/** Ends the connection that listens. */
const cutListener = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name = 'wardkeep'`

test('a node hears the topics of others one by one, in their order', async () => {
  const { database, changes, heard } = await node()
  heard.length = 0
  await database.sql(
    `select pg_notify('${CHANNEL}', 'user:5 session:a'), pg_notify('${CHANNEL}', 'keys')`,
  )
  await until('all is heard', () => heard.length === 3 || undefined)
  expect(heard).toEqual(['user:5', 'session:a', 'keys'])
  await changes.stop()
})

test('what this node emits is heard here at once, by all who subscribed', async () => {
  const { changes, heard } = await node()
  const second: (Topic | null)[] = []
  changes.subscribe((topic) => void second.push(topic))
  heard.length = 0
  changes.emit(['tenant:2', 'user:1'])
  expect(heard).toEqual(['tenant:2', 'user:1'])
  expect(second).toEqual(heard)
  await changes.stop()
})

test('a node that has just begun to listen tells everyone that all may be stale', async () => {
  const { changes, heard } = await node()
  expect(heard).toEqual([null])
  await changes.stop()
})

test('a lost listener is not trusted until another listens, and what was missed counts as stale', async () => {
  const { database, changes, heard, trusts } = await node()
  for (let round = 0; round < 2; round++) {
    heard.length = 0
    await database.sql(cutListener)
    await until('the loss is noticed', () => !changes.trusted() || undefined)
    await trusts()
    expect(heard).toEqual([null])
    await database.sql(`select pg_notify('${CHANNEL}', 'user:${round}')`)
    await until('it hears again', () => heard.includes(`user:${round}`) || undefined)
  }
  await changes.stop()
})

test('a database that cannot be reached is waited for, and nothing is trusted meanwhile', async () => {
  const address = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nothing' }
  const tried: string[] = []
  const log = {
    ...silentLog,
    warn: (_: unknown, message?: string) => void tried.push(message ?? ''),
  }
  const changes = watchChanges(address, log as typeof silentLog)
  expect(changes.trusted()).toBe(false)
  // The topics of this node need no listener.
  const heard: (Topic | null)[] = []
  changes.subscribe((topic) => void heard.push(topic))
  changes.emit(['user:1'])
  expect(heard).toEqual(['user:1'])
  await changes.stop()
  expect(changes.trusted()).toBe(false)
})

test('once stopped it holds no connection and is trusted no more', async () => {
  const { database, changes } = await node()
  await changes.stop()
  expect(changes.trusted()).toBe(false)
  await until('the connection has gone', async () => {
    const rows = await database.sql(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'wardkeep'`,
    )
    return rows.length === 0 || undefined
  })
})
