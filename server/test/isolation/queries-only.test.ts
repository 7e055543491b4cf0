/** Isolation only by the conditions in the queries, with row-level security disabled. */
import { expect } from 'vitest'
import { listenerClient } from '../../src/platform/db/connection.ts'
import { runTable } from './matrix.ts'
import { tenantTables } from './scene.ts'

runTable(async (service) => {
  for (const table of ['tenants', ...(await tenantTables(service))])
    await service.database.sql(`alter table ${table} disable row level security`)
  // Verifies that row-level security is disabled: the application role sees rows of other tenants.
  const client = listenerClient(service.database.address)
  await client.connect()
  const { rows } = await client.query('select count(*)::int as seen from users')
  await client.end()
  expect(rows[0].seen).toBeGreaterThan(0)
})
