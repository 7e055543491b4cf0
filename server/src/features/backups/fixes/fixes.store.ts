/** The SQL for the self-healing checks of backups. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { BackupStatus } from '../backups.table.ts'
import type { BackupType } from '../file/format.ts'

export interface BackupEntry {
  id: string
  type: BackupType
  tenant_id: number | null
  created_at: string
  rewritten_at: string | null
  size_bytes: number | null
  fault: string | null
  checked_at: string | null
}

const isLiving = sql<boolean>`(tenant_id is null
  or tenant_id not in (select id from tenants where deleted_at is not null))`

const ENTRY = [
  'id',
  'type',
  'tenant_id',
  'created_at',
  'rewritten_at',
  'size_bytes',
  'fault',
  'checked_at',
] as const

/** Returns the completed backups of all tenants that are not deleted, restricted to `ids` if they are passed. */
export function listBackupEntries(tx: TenantTx, ids?: readonly string[]): Promise<BackupEntry[]> {
  return tx.db
    .selectFrom('backups')
    .select(ENTRY)
    .where('status', '=', 'completed')
    .where(isLiving)
    .$if(ids !== undefined, (query) =>
      query.where('id', '=', sql<string>`any(${ids ?? []}::uuid[])`),
    )
    .orderBy('created_at')
    .execute()
}

/** Marks a backup as failed if its status is in `from`, and returns its type and tenant; otherwise undefined. */
export function failBackup(
  tx: TenantTx,
  id: string,
  from: readonly BackupStatus[],
  fault: string,
): Promise<{ type: BackupType; tenant_id: number | null } | undefined> {
  return tx.db
    .updateTable('backups')
    .set({ status: 'failed', verified_at: null, fault })
    .where('id', '=', id)
    .where('status', 'in', from)
    .returning(['type', 'tenant_id'])
    .executeTakeFirst()
}

export interface ToCheck {
  id: string
  sha256: string | null
  rewritten_at: string | null
}

/**
 * Returns the backup whose last verification is oldest. Returns undefined if every backup was verified after `before`.
 * Includes damaged backups; excludes the ids in `except`.
 */
export function nextToCheck(
  tx: TenantTx,
  before: string,
  except: readonly string[],
): Promise<ToCheck | undefined> {
  const read = sql`greatest(checked_at, verified_at)`
  return tx.db
    .selectFrom('backups')
    .select(['id', 'sha256', 'rewritten_at'])
    .where('status', '=', 'completed')
    .where(sql<boolean>`id <> all(${except}::uuid[])`)
    .where(sql<boolean>`coalesce(${read} < ${before}::timestamptz, true)`)
    .orderBy(sql`${read} asc nulls first`)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

/** Records that a backup was just checked, regardless of the result, so that the other backups are checked next. */
export async function saveChecked(tx: TenantTx, id: string): Promise<void> {
  await tx.db.updateTable('backups').set({ checked_at: sql`now()` }).where('id', '=', id).execute()
}

/** Returns when the first tenant was created. No backup can be older. Returns null if there is no tenant. */
export async function beganAt(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ began_at: string | null }>`
    select min(created_at) as began_at from tenants`.execute(tx.db)
  return rows[0]?.began_at ?? null
}
