/** The connection limit of the embedded server is high enough for the configured pool. */
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/commands/start.ts'
import { readConfig } from '../../src/config/config.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'

test.each([
  ['10', '60'],
  ['200', '236'],
])('a service with the pool size %s accepts %s connections', async (size, most) => {
  const config = readConfig({ DATA_DIR: await scratch(), DATABASE_POOL_SIZE: size })
  const { address, stop } = await openDatabase(config, silentLog)
  onTestFinished(stop)
  const client = ownerClient(address)
  await client.connect()
  const { rows } = await client.query('show max_connections')
  await client.end()
  expect(rows).toEqual([{ max_connections: most }])
})
