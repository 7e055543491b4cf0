/** The SQL of the command line: what a person's requests have no need of. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Status } from '../backups.table.ts'
import type { BackupType } from '../file/format.ts'
import '../backups.table.ts'

/** How far a job is, whosever it is. */
export function jobState(
  tx: TenantTx,
  id: string,
): Promise<{ status: Status; progress: number; error: string | null } | undefined> {
  return tx.db
    .selectFrom('backup_jobs')
    .select(['status', 'progress', 'error'])
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Which installation the database is of. */
export async function ownInstallation(tx: TenantTx): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`select id from installation`.execute(tx.db)
  return rows[0]?.id
}

export interface Adopted {
  id: string
  type: BackupType
  tenant_id: number | null
  size_bytes: number
  sha256: string
  records: number
  schema_version: number
  created_at: string
  locked_until: string | null
  rewritten_at: string | null
  forgotten: number[]
}

/** Enters a backup that the database does not know. Nothing where it does by now. */
export async function insertAdopted(tx: TenantTx, backup: Adopted): Promise<void> {
  await tx.db
    .insertInto('backups')
    .values({
      ...backup,
      reason: 'request',
      status: 'completed',
      created_by: null,
      verified_at: null,
      drill_seconds: null,
      checked_at: null,
      fault: null,
    })
    .onConflict((one) => one.column('id').doNothing())
    .execute()
}
