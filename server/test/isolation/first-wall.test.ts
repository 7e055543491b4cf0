/** The first wall alone: row-level security is off, only the queries keep tenants apart. */
import { expect } from 'vitest'
import { listenerClient } from '../../src/platform/db/connection.ts'
import { runTable } from './matrix.ts'
import { tenantTables } from './scene.ts'

runTable(async (service) => {
  for (const table of ['tenants', ...(await tenantTables(service))])
    await service.database.sql(`alter table ${table} disable row level security`)
  // The second wall is really gone: the application's role sees what it must not.
  const client = listenerClient(service.database.address)
  await client.connect()
  const { rows } = await client.query('select count(*)::int as seen from users')
  await client.end()
  expect(rows[0].seen).toBeGreaterThan(0)
})
