/** What a URL of the operator's may say of connections, and what not; and connections whose other end has gone. */
import { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { endingPool, migratedDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { listenerClient, openPool, openWorkerPool, ownerClient } from './connection.ts'
import { problemOf } from './failures.ts'

test('the name, limits, role and size of our connections are ours, whatever the URL asks for', async () => {
  const database = await migratedDatabase()
  const asked = new URLSearchParams({
    application_name: 'clinic',
    statement_timeout: '1',
    lock_timeout: '1',
    idle_in_transaction_session_timeout: '1',
    query_timeout: '1',
    keepAliveInitialDelayMillis: '1',
    client_encoding: 'LATIN1',
    max: '1',
    options:
      '-c statement_timeout=1 -c lock_timeout=1 -c idle_in_transaction_session_timeout=1 -c work_mem=5MB -c tcp_keepalives_idle=7200',
  })
  const url = new URL(database.url)
  for (const [name, value] of asked) url.searchParams.set(name, value)
  const address = { url: url.href }
  const look = `select current_setting('application_name') as name, current_setting('statement_timeout') as longest,
    current_setting('lock_timeout') as lock, current_setting('client_encoding') as encoding,
    current_setting('idle_in_transaction_session_timeout') as idle, current_setting('work_mem') as memory,
    (select array_agg(reset_val order by name) from pg_settings where name like 'tcp\\_keepalives%') as alive,
    current_user as who`
  const pool = endingPool(openPool(address, 3))
  const workers = endingPool(openWorkerPool(address, 2))
  const alive = ['3', '30', '10']
  const common = { name: 'wardkeep', encoding: 'UTF8', memory: '5MB', alive }
  const limits = { ...common, longest: '30s', lock: '10s', idle: '1min' }
  expect((await pool.query(look)).rows).toEqual([{ ...limits, who: 'wardkeep_app' }])
  expect((await workers.query(look)).rows).toEqual([{ ...limits, who: 'wardkeep_platform' }])
  expect([pool.options.max, workers.options.max]).toEqual([3, 2])
  const unlimited = { ...common, longest: '0', idle: '0' }
  for (const [client, limits] of [
    [ownerClient(address), { ...unlimited, lock: '0' }],
    [listenerClient(address), { ...unlimited, lock: '300ms' }],
  ] as const) {
    await client.connect()
    expect((await client.query(look)).rows).toMatchObject([limits])
    await client.end()
  }
})

test('a connection as the owner asks by itself whether the server lives, and may be lost', async () => {
  const keepAlive = vi.spyOn(Socket.prototype, 'setKeepAlive')
  onTestFinished(() => keepAlive.mockRestore())
  const database = await migratedDatabase()
  const client = ownerClient(database.address)
  await client.connect()
  expect(keepAlive.mock.lastCall).toEqual([true, 30_000])
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await database.sql('select pg_terminate_backend($1)', [rows[0].pid])
  await ended
  expect(problemOf(await client.query('select 1').catch((error) => error))?.code).toBe(
    'database_away',
  )
})

test.each([
  ['requests', openPool, 33_000],
  ['jobs', openWorkerPool, 121_000],
])('a connection of %s that has gone silent is away', async (_, open, silentMs) => {
  const proxy = await proxyTo(await migratedDatabase())
  const pool = endingPool(open({ url: proxy.url }, 1))
  await pool.query('select 1')
  proxy.stall()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const failed = pool.query('select 1').catch((error) => error)
  await vi.advanceTimersByTimeAsync(silentMs)
  expect(problemOf(await failed)?.code).toBe('database_away')
})
