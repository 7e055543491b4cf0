/** What a URL of the operator's may say of connections, and what not. */
import { expect, test } from 'vitest'
import { endingPool, migratedDatabase } from '../../../test/support/database.ts'
import { listenerClient, openPool, openWorkerPool, ownerClient } from './connection.ts'

test('the name, limits, role and size of our connections are ours, whatever the URL asks for', async () => {
  const database = await migratedDatabase()
  const asked = new URLSearchParams({
    application_name: 'clinic',
    statement_timeout: '1',
    lock_timeout: '1',
    idle_in_transaction_session_timeout: '1',
    query_timeout: '1',
    client_encoding: 'LATIN1',
    max: '1',
    options:
      '-c statement_timeout=1 -c lock_timeout=1 -c idle_in_transaction_session_timeout=1 -c work_mem=5MB',
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
