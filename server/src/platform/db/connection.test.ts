/** Options that an operator's URL may and may not set, and connections that lost their server. */
import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { endingPool, migratedDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import { listenerClient, openPool, openWorkerPool, ownerClient } from './connection.ts'
import { problemOf } from './failures.ts'
import { closeClient } from './verified-client.ts'

test('the service ignores an application name, time limits, a role and a pool size in the database URL', async () => {
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
      '-c statement_timeout=1s -c lock_timeout=1 -c idle_in_transaction_session_timeout=1 -c work_mem=5MB',
  })
  const url = new URL(database.url)
  for (const [name, value] of asked) url.searchParams.set(name, value)
  const address = { url: url.href }
  const look = `select current_setting('application_name') as name, current_setting('statement_timeout') as longest,
    current_setting('lock_timeout') as lock, current_setting('client_encoding') as encoding,
    current_setting('idle_in_transaction_session_timeout') as idle, current_setting('work_mem') as memory,
    current_user as who`
  const pool = endingPool(openPool(address, 3))
  const workers = endingPool(openWorkerPool(address, 2))
  const common = { name: 'wardkeep', encoding: 'UTF8', memory: '5MB' }
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

test('the service sends keepalives on an owner connection, and survives the loss of that connection', async () => {
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
])(
  'the service reports a silent connection of %s as an unreachable database',
  async (_, open, silentMs) => {
    const proxy = await proxyTo(await migratedDatabase())
    const pool = endingPool(open({ url: proxy.url }, 1))
    await pool.query('select 1')
    proxy.stall()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const failed = pool.query('select 1').catch((error) => error)
    await vi.advanceTimersByTimeAsync(silentMs)
    expect(problemOf(await failed)?.code).toBe('database_away')
  },
)

test('the service closes a connection after 5 s if its server never acknowledges the close', async () => {
  const silent = createServer({ allowHalfOpen: true }, (socket) => void socket.resume())
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as AddressInfo
  const client = new pg.Client({ host: '127.0.0.1', port })
  client.on('error', () => undefined)
  client.connect().catch(() => undefined)
  const [socket] = (await once(silent, 'connection')) as [Socket]
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const closing = closeClient(client)
  await vi.advanceTimersByTimeAsync(5_000)
  await closing
  expect(client).toMatchObject({ connection: { stream: { destroyed: true } } })
  socket.destroy()
})
