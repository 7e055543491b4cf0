/** What one node tells the others, and when a node must not believe what it holds. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { CHANNEL, type Changes, watchChanges } from './changes.ts'
import { listenerClient } from './connection.ts'
import type { Topic } from './topics.ts'

/** Marks what is sent before and after all else. */
const marked = (word: 'first' | 'last') => word as string as Topic

/** A node on a database of its own, or on that of another one. */
async function node(shared?: TestDatabase) {
  const database = shared ?? (await migratedDatabase())
  if (!shared) onTestFinished(() => database.close())
  const changes = watchChanges(database.address, silentLog)
  onTestFinished(() => changes.stop())
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

test('who has ended the subscription hears nothing more', async () => {
  const { changes, heard } = await node()
  const ended: (Topic | null)[] = []
  const end = changes.subscribe((topic) => void ended.push(topic))
  changes.invalidate(['user:1'])
  end()
  changes.invalidate(['user:2'])
  expect(ended).toEqual(['user:1'])
  expect(heard).toEqual([null, 'user:1', 'user:2'])
})

test('what this node emits is heard here at once, by all who subscribed', async () => {
  const { changes, heard } = await node()
  const second: (Topic | null)[] = []
  changes.subscribe((topic) => void second.push(topic))
  heard.length = 0
  changes.invalidate(['tenant:2', 'user:1'])
  expect(heard).toEqual(['tenant:2', 'user:1'])
  expect(second).toEqual(heard)
  await changes.stop()
})

test('one who throws on hearing of a change keeps nobody else from it, and the node listens on', async () => {
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

test('a sign of life is believed for 900 ms from when it was asked for', async () => {
  const { changes, trusts } = await node()
  // Whole milliseconds: sums of fractions are not exact.
  let now = Math.ceil(performance.now())
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  now += 900
  expect(changes.trusted()).toBe(false)
  // One that is asked for and answered while the clock stands here.
  await trusts()
  now += 899
  expect(changes.trusted()).toBe(true)
  now += 1
  expect(changes.trusted()).toBe(false)
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
  changes.invalidate(['user:1'])
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

test('stopped while it connects anew, it holds no connection either', async () => {
  const database = await migratedDatabase()
  const proxy = await proxyTo(database)
  let connected = 0
  const info = (_: unknown, message: string) => {
    if (message.startsWith('listening')) connected += 1
  }
  const changes = watchChanges({ url: proxy.url }, { ...silentLog, info } as typeof silentLog)
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

describe('an announcement of work', () => {
  /** What is sent over the channel, as it is sent, until `last` has come. */
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
  /** Waits until all that was announced on a node before has been sent. */
  async function sentAll(changes: Changes, channel: { until(last: string): Promise<boolean> }) {
    await channel.until('first')
    changes.notify(marked('last'))
    await channel.until('last')
  }

  test('is heard here at once, and by every other node, each once', async () => {
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
    // What a node has announced itself would have come back before another's answer to it.
    expect(here.heard).toEqual(['journal', 'due'])
  })

  test('goes together with all that are made meanwhile: a thousand are two notifications', async () => {
    const { database, changes } = await node()
    const channel = await overheard(database)
    changes.notify(marked('first'))
    for (let times = 0; times < 1000; times += 1) changes.notify('journal')
    changes.notify('due')
    await sentAll(changes, channel)
    expect(channel.sent.sort()).toEqual(['due', 'first', 'journal', 'last'])
  })

  test('is sent however much is announced in one moment', async () => {
    const { database, changes } = await node()
    const channel = await overheard(database)
    const topics = Array.from({ length: 2_000 }, (_, index): Topic => `due:${index}`)
    for (const topic of topics) changes.notify(topic)
    changes.notify(marked('first'))
    await sentAll(changes, channel)
    expect(channel.sent).toHaveLength(2_002)
  })

  test('that is made while nobody listens is sent by the next listener', async () => {
    const { database, changes, trusts } = await node()
    const channel = await overheard(database)
    await database.sql(cutListener)
    await until('the loss is noticed', () => !changes.trusted() || undefined)
    changes.notify('journal')
    await trusts()
    await channel.until('journal')
  })

  test('whose sending breaks off is sent by the next listener', async () => {
    const database = await migratedDatabase()
    onTestFinished(() => database.close())
    const channel = await overheard(database)
    const proxy = await proxyTo(database)
    const changes = watchChanges({ url: proxy.url }, silentLog)
    onTestFinished(() => changes.stop())
    await until('it listens', () => changes.trusted() || undefined)
    proxy.stall()
    changes.notify('journal')
    await until('the loss is noticed', () => !changes.trusted() || undefined)
    proxy.cut()
    await proxy.open()
    await channel.until('journal')
  })

  test('that cannot be sent stops nothing', async () => {
    const address = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nothing' }
    const changes = watchChanges(address, silentLog)
    const heard: (Topic | null)[] = []
    changes.subscribe((topic) => void heard.push(topic))
    changes.notify('journal')
    await changes.stop()
    changes.notify('due')
    expect(heard).toEqual(['journal', 'due'])
  })

  test('that was made just before the stop is still sent', async () => {
    const { database, changes } = await node()
    const channel = await overheard(database)
    changes.notify(marked('first'))
    changes.notify('journal')
    await changes.stop()
    await channel.until('journal')
  })
})
