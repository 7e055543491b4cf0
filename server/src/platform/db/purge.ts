/** Destroys what a deleted tenant leaves in a table, a batch at a time. */
import { sql } from 'kysely'
import type { TenantTx } from './transaction.ts'

/**
 * Destroys up to `limit` rows or so that the feature keeps of a deleted tenant. Returns whether there
 * may be more.
 */
export type PurgeRows = (tx: TenantTx, tenantId: number, limit: number) => Promise<boolean>

/** For a table with an `id` and a `tenant_id`; what points to its rows has to go first, or with them. */
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
