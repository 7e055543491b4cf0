/** The SQL that only the backup commands use. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { BackupStatus } from '../backups.table.ts'
import type { BackupType } from '../file/format.ts'
import '../backups.table.ts'

/** Returns the status and the progress of a job. Returns undefined if the job does not exist. */
export function jobState(
  tx: TenantTx,
  id: string,
): Promise<{ status: BackupStatus; progress: number; error: string | null } | undefined> {
  return tx.db
    .selectFrom('backup_jobs')
    .select(['status', 'progress', 'error'])
    .where('id', '=', id)
    .executeTakeFirst()
}

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

/** Registers a completed backup. Does nothing if another process already registered it. */
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
