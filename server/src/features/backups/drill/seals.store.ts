/** The SQL that finds something sealed of each clinic. */
import { sql } from 'kysely'
import type { SealedTable } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'

export async function listTenants(tx: TenantTx): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select id from tenants order by id`.execute(tx.db)
  return rows.map(({ id }) => id)
}

export interface SealedRow {
  tenant_id: number
  /** What its place is called by. */
  name: string | number
  sealed: Buffer
}

/** A row of each tenant that has any; rows of none are the platform tenant's. */
export async function oneOfEach(
  tx: TenantTx,
  { table, id, row }: SealedTable,
  column: string,
): Promise<SealedRow[]> {
  const { rows } = await sql<SealedRow>`
    select distinct on (tenant) tenant as tenant_id, name, sealed from (
      select coalesce(tenant_id, (select id from tenants where is_platform)) as tenant,
        ${sql.ref(row ?? id.column)} as name, ${sql.ref(column)} as sealed
      from ${sql.table(table)}) as found
    order by tenant`.execute(tx.db)
  return rows
}
