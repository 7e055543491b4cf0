/** Leaves purged tenants and records out of a restore in place. */
import type { Connection } from '../../../platform/db/index.ts'
import type { PurgedRecords } from '../../../platform/restore-rule.ts'
import { purgedIn } from '../erase/erase.store.ts'
import { dropPurged } from '../erase/purged-records.store.ts'
import type { RestoreOptions, RestoreResult } from './outcome.ts'
import { RefusedError } from './refused.ts'
import { dropTenants, type Staged, stageOf } from './stage.store.ts'

/**
 * Takes off the stage the tenants that the database or the store knows as purged, and records that were destroyed.
 * Returns what it had of them.
 * @throws RefusedError where one is asked for
 */
export async function leaveOut(
  client: Connection,
  { tenant_id }: RestoreOptions,
  tables: readonly Staged[],
  noted: readonly number[],
  purgedRecords: readonly PurgedRecords[],
): Promise<Pick<RestoreResult, 'purged' | 'purged_records'>> {
  const purged = [...noted, ...(await purgedIn(client))]
  if (tenant_id !== null && purged.includes(tenant_id))
    throw new RefusedError('the tenant was purged; it comes back from no backup')
  const names = new Set(tables.map(({ name }) => name))
  const purged_records = await dropPurged(
    client,
    purgedRecords,
    (table) => names.has(table),
    stageOf,
  )
  return { purged: await dropTenants(client, tables, purged), purged_records }
}
