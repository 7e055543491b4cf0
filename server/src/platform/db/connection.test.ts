/** What a URL of the operator's may say of connections, and what not. */
import { expect, onTestFinished, test } from 'vitest'
import { migratedDatabase } from '../../../test/support/database.ts'
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
    options: '-c statement_timeout=1 -c work_mem=5MB',
  })
  const url = new URL(database.url)
  for (const [name, value] of asked) url.searchParams.set(name, value)
  const address = { url: url.href }
  const look = `select current_setting('application_name') as name, current_setting('statement_timeout') as longest,
    current_setting('lock_timeout') as lock, current_setting('client_encoding') as encoding,
    current_setting('work_mem') as memory, current_user as who`
  const [pool, workers] = [openPool(address, 3), openWorkerPool(address, 2)]
  onTestFinished(async () => void (await Promise.all([pool.end(), workers.end()])))
  const common = { name: 'wardkeep', encoding: 'UTF8', memory: '5MB' }
  const limits = { ...common, longest: '30s', lock: '10s' }
  expect((await pool.query(look)).rows).toEqual([{ ...limits, who: 'wardkeep_app' }])
  expect((await workers.query(look)).rows).toEqual([{ ...limits, who: 'wardkeep_platform' }])
  expect([pool.options.max, workers.options.max]).toEqual([3, 2])
  for (const client of [ownerClient(address), listenerClient(address)]) {
    await client.connect()
    expect((await client.query(look)).rows).toMatchObject([common])
    await client.end()
  }
})
