/** The SQL that selects each tenant's keys, and samples of the data encrypted with them. */
import type { SealedTable, StoredKey } from '../../../platform/crypto/index.ts'
import type { PgConnection } from '../../../platform/db/index.ts'

/** Returns the data keys of all visible tenants, with their key-encryption keys. */
export async function listSealingKeys(
  client: PgConnection,
): Promise<readonly (StoredKey & { tenant_id: number })[]> {
  const { rows } = await client.query<StoredKey & { tenant_id: number }>(
    `select data_keys.tenant_id, data_keys.id, data_keys.wrapped_key, data_keys.retired_at,
       keks.id as kek_id, keks.wrapped_key as wrapped_kek
     from data_keys join key_encryption_keys keks on keks.id = data_keys.key_encryption_key_id`,
  )
  return rows
}

export interface SampledRow {
  tenant_id: number
  /** The id of the row, which is bound to the encrypted value. */
  name: string | number
  sealed: Buffer
}

/** Returns up to three rows of each tenant. Treats rows without a tenant as rows of the platform tenant. */
export async function someOfEach(
  client: PgConnection,
  { table, id, row }: SealedTable,
  column: string,
): Promise<SampledRow[]> {
  const { rows } = await client.query<SampledRow>(
    `select tenants.id as tenant_id, found.* from tenants cross join lateral (
       (select ${row ?? id.column} as name, ${column} as sealed from ${table}
         where tenant_id = tenants.id limit 3)
       union all
       (select ${row ?? id.column}, ${column} from ${table}
         where tenant_id is null and tenants.is_platform limit 3)) as found
     order by tenants.id`,
  )
  return rows
}
