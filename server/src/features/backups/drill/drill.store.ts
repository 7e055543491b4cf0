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

/** The file that was read of a backup: it may have been written anew since, which proves or disproves nothing of that one. */
export interface ReadFile {
  id: string
  rewritten_at: string | null
}

const PROVEN = { verified_at: sql<string>`now()`, fault: null }
const DISPROVEN = {
  verified_at: null,
  fault: 'It could not be read to its end, or has failed in a drill',
}
/** It was proven before, and may be again. */
export const UNREAD = { fault: 'The store did not hand it out when it was to be read again' }

/** Enters a drill's success. Returns what the backup is of; undefined where the file is gone. */
export const saveDrill = (tx: TenantTx, file: ReadFile, seconds: number) =>
  save(tx, file, { ...PROVEN, drill_seconds: seconds })

/** Says whether the file has just been read to its end, or can't be. Returns what the backup is of. */
export const saveVerified = (tx: TenantTx, file: ReadFile, isProven: boolean) =>
  save(tx, file, isProven ? PROVEN : DISPROVEN)

/** Says that the store is there, and does not hand the file out. */
export const saveUnread = (tx: TenantTx, file: ReadFile) => save(tx, file, UNREAD)

function save(
  tx: TenantTx,
  { id, rewritten_at }: ReadFile,
  proof: (typeof PROVEN | typeof DISPROVEN | typeof UNREAD) & { drill_seconds?: number },
): Promise<Proven | undefined> {
  return tx.db
    .updateTable('backups')
    .set({ checked_at: sql`now()`, ...proof })
    .where('id', '=', id)
    .where('rewritten_at', 'is not distinct from', rewritten_at)
    .returning(['type', 'tenant_id'])
    .executeTakeFirst()
}
