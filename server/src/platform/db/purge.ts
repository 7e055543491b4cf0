/** Deletes the rows of a deleted tenant from a table, in batches. */
import { sql } from 'kysely'
import type { TenantTx } from './transaction.ts'

export type PurgeRows = (tx: TenantTx, tenantId: number, limit: number) => Promise<boolean>

/**
 * Returns a function that purges a table with `id` and `tenant_id`. Referencing rows must be deleted first, or cascade.
 */
export function purgerOf(table: string): PurgeRows {
  return async (tx, tenantId, limit) => {
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where id in (
        select id from ${sql.table(table)} where tenant_id = ${tenantId} limit ${limit})`.execute(
      tx.db,
    )
    return numAffectedRows > 0n
  }
}
