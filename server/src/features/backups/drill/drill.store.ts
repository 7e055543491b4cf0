/** The SQL of drills: which backup is next, and how long it took. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../backups.table.ts'

/** The id of the newest backup of everything. */
export async function newestFull(tx: TenantTx): Promise<string | undefined> {
  const found = await tx.db
    .selectFrom('backups')
    .select('id')
    .where('type', '=', 'full')
    .where('status', '=', 'completed')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.id
}

/** Returns whether the backup is still there. */
export async function saveDrill(tx: TenantTx, id: string, seconds: number): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('backups')
    .set({ verified_at: sql`now()`, drill_seconds: seconds })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
