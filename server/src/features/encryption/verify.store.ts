/** The SQL that reads all that data keys seal, whoever's it is and whether it is deleted or not. */
import { sql } from 'kysely'
import type { SealedTable } from '../../platform/crypto/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import type { Position } from './sweep.store.ts'

export interface WholeRow extends Record<string, Buffer | null | string | number> {
  $id: string | number
  /** What places call it by. */
  $row: string | number
  $tenant: number
}

/** The next rows in the order of their ids; those of no tenant are the platform tenant's. */
export async function nextRows(
  tx: TenantTx,
  { table, id, row = id.column, columns }: SealedTable,
  after: Position,
  limit: number,
): Promise<WholeRow[]> {
  const idColumn = sql.ref(id.column)
  const behind = after === null ? sql`` : sql`where ${idColumn} > ${after}`
  const { rows } = await sql<WholeRow>`
    select ${idColumn} as "$id", ${sql.ref(row)} as "$row",
      coalesce(tenant_id, (select id from tenants where is_platform)) as "$tenant",
      ${sql.join(columns.map((column) => sql.ref(column)))}
    from ${sql.table(table)} ${behind} order by ${idColumn} limit ${limit}`.execute(tx.db)
  return rows
}

/** Whose data keys there are, and how many. */
export async function keyedTenants(tx: TenantTx): Promise<{ tenant_id: number; keys: number }[]> {
  const { rows } = await sql<{ tenant_id: number; keys: number }>`
    select tenant_id, count(*) as keys from data_keys group by tenant_id order by tenant_id`.execute(
    tx.db,
  )
  return rows
}
