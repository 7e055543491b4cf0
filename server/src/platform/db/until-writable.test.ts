/** Startup with a database that is away, is a standby, or refuses the connection. */
import { expect, test } from 'vitest'
import { emptyDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { query } from '../../../test/support/embedded.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { movableClock } from '../../../test/support/time.ts'
import { startTwoServers } from '../../../test/support/two-servers.ts'
import { StartupError } from '../../lib/startup-error.ts'
import { untilWritable } from './until-writable.ts'

function waiter(waitMs = 60_000) {
  const lines: { text: string; reason?: unknown }[] = []
  const warned = Promise.withResolvers<void>()
  const say = (fields: object, text: string) => {
    lines.push({ ...fields, text })
    warned.resolve()
  }
  const clock = movableClock()
  const stopping = new AbortController()
  const options = {
    log: { ...silentLog, warn: say, info: say } as typeof silentLog,
    clock,
    waitMs,
    signal: stopping.signal,
  }
  return { options, lines, warned: warned.promise, clock, stop: () => stopping.abort() }
}

test('startup waits for an unreachable database, and logs the beginning and the end of the wait', async () => {
  const database = await emptyDatabase()
  const proxy = await proxyTo(database)
  await proxy.refuse()
  const { options, lines, warned } = waiter()
  const waiting = untilWritable({ url: proxy.url }, options)
  await warned
  await proxy.open()
  expect(await waiting).toBe(true)
  expect(lines.map(({ text }) => text)).toEqual([
    'waiting for a writable database',
    'database writable',
  ])
  expect(lines[0]?.reason).toMatch(/ECONNREFUSED/)
})

test('startup waits until a standby is promoted', async () => {
  const { standby } = await startTwoServers()
  const { options, lines, warned } = waiter()
  const waiting = untilWritable(standby, options)
  await warned
  expect(lines[0]?.reason).toMatch(/standby/)
  await query(standby, 'select pg_promote()')
  expect(await waiting).toBe(true)
})

test('startup throws the reason when the time limit is reached', async () => {
  const proxy = await proxyTo(await emptyDatabase())
  await proxy.refuse()
  const { options, warned, clock } = waiter()
  const waiting = untilWritable({ url: proxy.url }, options).catch((error) => error)
  await warned
  clock.elapse(60_000)
  const error = await waiting
  expect(error).toBeInstanceOf(StartupError)
  expect(error.message).toMatch(/DATABASE_WAIT_SECONDS \(.*ECONNREFUSED/)
})

test.each([
  ['a missing database', { pathname: '/none' }, '3D000'],
  ['a missing user', { username: 'none' }, '28000'],
])('startup throws immediately if the cause is %s', async (_, change, code) => {
  const { options, lines } = waiter()
  const url = new URL((await proxyTo(await emptyDatabase())).url)
  const waiting = untilWritable({ url: Object.assign(url, change).href }, options)
  await expect(waiting).rejects.toMatchObject({ code })
  expect(lines).toEqual([])
})

test('startup stops waiting when the process shuts down', async () => {
  const proxy = await proxyTo(await emptyDatabase())
  await proxy.refuse()
  const { options, warned, stop } = waiter()
  const waiting = untilWritable({ url: proxy.url }, options)
  await warned
  stop()
  expect(await waiting).toBe(false)
})
