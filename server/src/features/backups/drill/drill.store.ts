/** The SQL of drills: which backup is next, how long it took, and what is no longer relied on. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { BackupType } from '../file/format.ts'
import '../backups.table.ts'

/** The newest backup of everything. */
export function newestFull(
  tx: TenantTx,
): Promise<{ id: string; rewritten_at: string | null } | undefined> {
  return tx.db
    .selectFrom('backups')
    .select(['id', 'rewritten_at'])
    .where('type', '=', 'full')
    .where('status', '=', 'completed')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** What a proof is of. */
export interface Proven {
  type: BackupType
  tenant_id: number | null
}

/** Enters a drill's success. Returns what the backup is of; undefined where it is gone. */
export function saveDrill(tx: TenantTx, id: string, seconds: number): Promise<Proven | undefined> {
  return tx.db
    .updateTable('backups')
    .set({ verified_at: sql`now()`, checked_at: sql`now()`, fault: null, drill_seconds: seconds })
    .where('id', '=', id)
    .returning(['type', 'tenant_id'])
    .executeTakeFirst()
}

/** Says whether the backup has just been read to its end, or can't be. Returns what it is of. */
export function saveVerified(
  tx: TenantTx,
  id: string,
  isProven: boolean,
): Promise<Proven | undefined> {
  return tx.db
    .updateTable('backups')
    .set({
      verified_at: isProven ? sql`now()` : null,
      checked_at: sql`now()`,
      fault: isProven ? null : 'It could not be read to its end, or has failed in a drill',
    })
    .where('id', '=', id)
    .returning(['type', 'tenant_id'])
    .executeTakeFirst()
}
