/** The SQL for test restores (drills): selects the backup to restore, and records the duration and the result. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { BackupType } from '../file/format.ts'
import '../backups.table.ts'

/** Returns the newest completed full backup; undefined if there is none. */
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

/** The scope of a verified backup. */
interface VerifiedScope {
  type: BackupType
  tenant_id: number | null
}

/** Identifies the file that was read. If the backup was rewritten later, the result does not apply to the new file. */
export interface DrilledFile {
  id: string
  rewritten_at: string | null
}

const VERIFIED = { verified_at: sql<string>`now()`, fault: null }
const NOT_VERIFIED = {
  verified_at: null,
  fault: 'The file could not be read completely, or a test restore failed',
}
/** The fault recorded when the store could not return a file. An earlier verification stays valid. */
export const UNREAD = { fault: 'The store did not hand it out when it was to be read again' }

/** Records a successful test restore. Returns the backup's scope, or undefined if the file was deleted or replaced. */
export const saveDrill = (tx: TenantTx, file: DrilledFile, seconds: number) =>
  save(tx, file, { ...VERIFIED, drill_seconds: seconds })

/**
 * Records whether the whole file could be verified. Returns the scope of the backup, or undefined if the file was
 * deleted or replaced.
 */
export const saveVerified = (tx: TenantTx, file: DrilledFile, isVerified: boolean) =>
  save(tx, file, isVerified ? VERIFIED : NOT_VERIFIED)

/** Records that the store was reachable but did not return the file. */
export const saveUnread = (tx: TenantTx, file: DrilledFile) => save(tx, file, UNREAD)

function save(
  tx: TenantTx,
  { id, rewritten_at }: DrilledFile,
  result: (typeof VERIFIED | typeof NOT_VERIFIED | typeof UNREAD) & { drill_seconds?: number },
): Promise<VerifiedScope | undefined> {
  return tx.db
    .updateTable('backups')
    .set({ checked_at: sql`now()`, ...result })
    .where('id', '=', id)
    .where('rewritten_at', 'is not distinct from', rewritten_at)
    .returning(['type', 'tenant_id'])
    .executeTakeFirst()
}
