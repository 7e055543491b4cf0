/** The SQL that finds the keys of each clinic, and some of what they have sealed. */
import type { SealedTable, StoredKey } from '../../../platform/crypto/index.ts'
import type { Connection } from '../../../platform/db/index.ts'

/** The data keys of the tenants that the scope sees, with what wraps them. */
export async function listKeys(
  client: Connection,
): Promise<readonly (StoredKey & { tenant_id: number })[]> {
  const { rows } = await client.query<StoredKey & { tenant_id: number }>(
    `select data_keys.tenant_id, data_keys.id, data_keys.wrapped_key, data_keys.retired_at,
       keks.id as kek_id, keks.wrapped_key as wrapped_kek
     from data_keys join key_encryption_keys keks on keks.id = data_keys.key_encryption_key_id`,
  )
  return rows
}

export interface SealedRow {
  tenant_id: number
  /** What its place is called by. */
  name: string | number
  sealed: Buffer
}

/** Of each tenant a few rows, where it has any; rows of none are the platform tenant's. */
export async function someOfEach(
  client: Connection,
  { table, id, row }: SealedTable,
  column: string,
): Promise<SealedRow[]> {
  const { rows } = await client.query<SealedRow>(
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
