/** Tests notifications between nodes, and when a node must not trust its cache. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { systemTime } from '../../lib/time.ts'
import { type Changes, watchChanges } from './changes.ts'
import { listenerClient } from './connection.ts'
import { CHANNEL } from './notifier.ts'
import type { Topic } from './topics.ts'

/** Marks the first and the last notification of a test. */
const marked = (word: 'first' | 'last') => word as string as Topic

/** Opens a node on a new database, or on the database of another node. */
async function node(shared?: TestDatabase) {
  const database = shared ?? (await migratedDatabase())
  if (!shared) onTestFinished(() => database.close())
  const changes = watchChanges(database.address, silentLog, systemTime)
  onTestFinished(() => changes.stop())
  const heard: (Topic | null)[] = []
  changes.subscribe((topic) => void heard.push(topic))
  const trusts = () => until('the node hears the others', () => changes.trusted() || undefined)
  await trusts()
  return { database, changes, heard, trusts }
}

/** Terminates the listener's connection. */
const cutListener = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and application_name = 'wardkeep'`

test('a node receives the topics of other nodes one by one, in order', async () => {
  const { database, changes, heard } = await node()
  heard.length = 0
  await database.sql(
    `select pg_notify('${CHANNEL}', 'user:5 session:a'), pg_notify('${CHANNEL}', 'keys')`,
  )
  await until('all is heard', () => heard.length === 3 || undefined)
  expect(heard).toEqual(['user:5', 'session:a', 'keys'])
  await changes.stop()
})

test('a node does not notify a subscriber that has unsubscribed', async () => {
  const { changes, heard } = await node()
  const ended: (Topic | null)[] = []
  const end = changes.subscribe((topic) => void ended.push(topic))
  changes.invalidate(['user:1'])
  end()
  changes.invalidate(['user:2'])
  expect(ended).toEqual(['user:1'])
  expect(heard).toEqual([null, 'user:1', 'user:2'])
})

test('a node notifies all its own subscribers immediately', async () => {
  const { changes, heard } = await node()
  const second: (Topic | null)[] = []
  changes.subscribe((topic) => void second.push(topic))
  heard.length = 0
  changes.invalidate(['tenant:2', 'user:1'])
  expect(heard).toEqual(['tenant:2', 'user:1'])
  expect(second).toEqual(heard)
  await changes.stop()
})

test('a node notifies the other subscribers, and keeps listening, when one throws', async () => {
  const { database, changes, heard } = await node()
  const late: (Topic | null)[] = []
  changes.subscribe(() => {
    throw new Error('on purpose')
  })
  changes.subscribe((topic) => void late.push(topic))
  heard.length = 0
  changes.invalidate(['user:1'])
  await database.sql(`select pg_notify('${CHANNEL}', 'user:2')`)
  await until('both are heard', () => late.length === 2 || undefined)
  expect([heard, late]).toEqual([
    ['user:1', 'user:2'],
    ['user:1', 'user:2'],
  ])
})

test('a node reports all cached values as outdated when it starts listening', async () => {
  const { changes, heard } = await node()
  expect(heard).toEqual([null])
  await changes.stop()
})

test('a node is not trusted after it loses its listener, and reports all cached values as outdated once it has reconnected', async () => {
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

test('a node keeps its server and cached values if the address still leads to that server', async () => {
  const { changes, heard } = await node()
  const server = changes.server()
  heard.length = 0
  await Promise.all([changes.recheck(), changes.recheck()])
  await changes.recheck()
  expect([changes.server(), changes.trusted(), heard]).toEqual([server, true, []])
})

test('a node keeps its last server while the listener is disconnected', async () => {
  const { database, changes, trusts } = await node()
  const server = changes.server()
  await database.sql(cutListener)
  await until('the loss is noticed', () => !changes.trusted() || undefined)
  expect(changes.server()).toEqual(server)
  await trusts()
  expect(changes.server()).toEqual(server)
})

test('a node trusts a heartbeat for 900 ms after it was requested', async () => {
  const { changes, trusts } = await node()
  // Uses whole milliseconds, because sums of fractions are not exact.
  let now = Math.ceil(performance.now())
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  now += 900
  expect(changes.trusted()).toBe(false)
  // Waits for a heartbeat that is sent and received while the clock stands still.
  await trusts()
  now += 899
  expect(changes.trusted()).toBe(true)
  now += 1
  expect(changes.trusted()).toBe(false)
})

test('a node is not trusted while the database is unreachable', async () => {
  const address = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nothing' }
  const tried: string[] = []
  const log = {
    ...silentLog,
    warn: (_: unknown, message?: string) => void tried.push(message ?? ''),
  }
  const changes = watchChanges(address, log as typeof silentLog, systemTime)
  expect(changes.trusted()).toBe(false)
  // Subscribers on this node receive its own topics without a listener.
  const heard: (Topic | null)[] = []
  changes.subscribe((topic) => void heard.push(topic))
  changes.invalidate(['user:1'])
  expect(heard).toEqual(['user:1'])
  await changes.stop()
  expect(changes.trusted()).toBe(false)
})

test('a node closes its connection and is not trusted after it stops', async () => {
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

test('a node leaves no connection open if it stops during a reconnect', async () => {
  const database = await migratedDatabase()
  const proxy = await proxyTo(database)
  let connected = 0
  const info = (_: unknown, message: string) => {
    if (message === 'change listener connected') connected += 1
  }
  const changes = watchChanges(
    { url: proxy.url },
    { ...silentLog, info } as typeof silentLog,
    systemTime,
  )
  await until('it listens', () => changes.trusted() || undefined)
  proxy.stall()
  proxy.cut()
  await until('it connects anew', () => (!changes.trusted() && proxy.links() > 0) || undefined)
  const stopped = changes.stop()
  await proxy.open()
  await stopped
  await until('the connection was made', () => connected === 2 || undefined)
  await until('the connection has gone', async () => {
    const rows = await database.sql(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'wardkeep'`,
    )
    return rows.length === 0 || undefined
  })
})

describe('a notification about new work', () => {
  /** Collects the notifications that are sent over the channel. `until` waits for a given notification. */
  async function overheard(database: TestDatabase) {
    const sent: string[] = []
    const listener = listenerClient(database.address)
    listener.on('notification', ({ payload }) => void sent.push(payload ?? ''))
    await listener.connect()
    onTestFinished(() => listener.end())
    await listener.query(`set application_name = 'overhearing'; listen ${CHANNEL}`)
    return {
      sent,
      until: (last: string) => until(last, () => sent.includes(last) || undefined),
    }
  }
  /** Waits until all earlier notifications of a node have been sent. */
  async function sentAll(changes: Changes, channel: { until(last: string): Promise<boolean> }) {
    await channel.until('first')
    changes.notify(marked('last'))
    await channel.until('last')
  }

  test('arrives immediately on this node, and once on every other node', async () => {
    const here = await node()
    const there = await node(here.database)
    here.heard.length = 0
    there.heard.length = 0
    here.changes.notify('journal')
    expect(here.heard).toEqual(['journal'])
    await until('it has come', () => there.heard.includes('journal') || undefined)
    there.changes.notify('due')
    expect(there.heard).toEqual(['journal', 'due'])
    await until('the answer has come', () => here.heard.includes('due') || undefined)
    // A notification from this node to itself would have arrived before the response of the other node.
    expect(here.heard).toEqual(['journal', 'due'])
  })

  test('is sent once per topic, together with concurrent notifications', async () => {
    const { database, changes } = await node()
    const channel = await overheard(database)
    changes.notify(marked('first'))
    for (let times = 0; times < 1000; times += 1) changes.notify('journal')
    changes.notify('due')
    await sentAll(changes, channel)
    expect(channel.sent.sort()).toEqual(['due', 'first', 'journal', 'last'])
  })

  test('is sent even among thousands of concurrent notifications', async () => {
    const { database, changes } = await node()
    const channel = await overheard(database)
    const topics = Array.from({ length: 2_000 }, (_, index): Topic => `due:${index}`)
    for (const topic of topics) changes.notify(topic)
    changes.notify(marked('first'))
    await sentAll(changes, channel)
    expect(channel.sent).toHaveLength(2_002)
  })

  test('is sent after the listener reconnects, if it is disconnected', async () => {
    const { database, changes, trusts } = await node()
    const channel = await overheard(database)
    await database.sql(cutListener)
    await until('the loss is noticed', () => !changes.trusted() || undefined)
    changes.notify('journal')
    await trusts()
    await channel.until('journal')
  })

  test('is sent by the next listener if the connection is lost while sending', async () => {
    const database = await migratedDatabase()
    onTestFinished(() => database.close())
    const channel = await overheard(database)
    const proxy = await proxyTo(database)
    const changes = watchChanges({ url: proxy.url }, silentLog, systemTime)
    onTestFinished(() => changes.stop())
    await until('it listens', () => changes.trusted() || undefined)
    proxy.stall()
    changes.notify('journal')
    await until('the loss is noticed', () => !changes.trusted() || undefined)
    proxy.cut()
    await proxy.open()
    await channel.until('journal')
  })

  test('still notifies this node when it cannot be sent', async () => {
    const address = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nothing' }
    const changes = watchChanges(address, silentLog, systemTime)
    const heard: (Topic | null)[] = []
    changes.subscribe((topic) => void heard.push(topic))
    changes.notify('journal')
    await changes.stop()
    changes.notify('due')
    expect(heard).toEqual(['journal', 'due'])
  })

  test('is sent even if the node stops immediately afterwards', async () => {
    const { database, changes } = await node()
    const channel = await overheard(database)
    changes.notify(marked('first'))
    changes.notify('journal')
    await changes.stop()
    await channel.until('journal')
  })
})
