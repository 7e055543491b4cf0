/** The SQL of backups and of their jobs, as people see them. */
import type { SelectQueryBuilder } from 'kysely'
import { type Database, ofScope, type TenantTx } from '../../platform/db/index.ts'
import type { BackupJobsTable, BackupsTable, JobKind, Reason } from './backups.table.ts'
import type { BackupType } from './file/format.ts'

const BACKUP = [
  'id as backup_id',
  'type',
  'tenant_id',
  'reason',
  'status',
  'size_bytes',
  'sha256',
  'records',
  'created_at',
  'created_by',
  'schema_version',
  'verified_at',
  'drill_seconds',
  'locked_until',
  'rewritten_at',
] as const

const JOB = [
  'id as job_id',
  'backup_id',
  'kind',
  'status',
  'progress',
  'error',
  'result',
  'created_at',
  'started_at',
  'finished_at',
] as const

/** Whose break says that another one is at it. */
export const CONFLICTS = { backup_jobs__one_at_a_time: 'backup_running' } as const

/** A list of more is told by its total: retention keeps far fewer. */
const MAX_LISTED = 1_000

/**
 * What the scope may see: a tenant its own `tenant` backups, the platform all but those of deleted tenants.
 * Row-level security says the same.
 */
function seen<T extends 'backups' | 'backup_jobs', O>(
  tx: TenantTx,
  query: SelectQueryBuilder<Database, T, O>,
): SelectQueryBuilder<Database, T, O> {
  return tx.tenantId === null
    ? query.where((eb) =>
        eb.or([eb(eb.ref('tenant_id' as never), 'is', null), ofScope(tx, 'tenant_id')]),
      )
    : query.where(ofScope(tx, 'tenant_id'))
}

export async function listBackups(tx: TenantTx) {
  const rows = await seen(tx, tx.db.selectFrom('backups'))
    .select(BACKUP)
    .select((eb) => eb.fn.countAll<number>().over().as('total'))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(MAX_LISTED)
    .execute()
  return {
    items: rows.map(({ total: _, ...backup }) => backup),
    total: rows[0]?.total ?? 0,
  }
}

export function findBackup(tx: TenantTx, id: string) {
  return seen(tx, tx.db.selectFrom('backups').where('id', '=', id))
    .select(BACKUP)
    .executeTakeFirst()
}

export function findJob(tx: TenantTx, id: string) {
  return seen(tx, tx.db.selectFrom('backup_jobs').where('id', '=', id))
    .select(JOB)
    .executeTakeFirst()
}

/** Whether there is such a tenant, deleted or not. */
export async function isThere(tx: TenantTx, tenantId: number): Promise<boolean> {
  const tenant = await tx.db
    .selectFrom('tenants')
    .select('id')
    .where('id', '=', tenantId)
    .executeTakeFirst()
  return tenant !== undefined
}

export interface NewBackup {
  id: string
  type: BackupType
  tenant_id: number | null
  reason: Reason
  created_by: number | null
}

export async function insertBackup(tx: TenantTx, backup: NewBackup): Promise<void> {
  await tx.db
    .insertInto('backups')
    .values({
      ...backup,
      size_bytes: null,
      sha256: null,
      records: null,
      schema_version: null,
      verified_at: null,
      drill_seconds: null,
      checked_at: null,
      fault: null,
      locked_until: null,
      rewritten_at: null,
    })
    .execute()
}

export interface NewJob {
  id: string
  backup_id: string
  tenant_id: number | null
  kind: JobKind
  /** Both in JSON. */
  actor: string
  options?: string
}

export async function insertJob(tx: TenantTx, job: NewJob): Promise<void> {
  await tx.db
    .insertInto('backup_jobs')
    .values({
      options: '{}',
      ...job,
      error: null,
      result: null,
      started_at: null,
      finished_at: null,
    })
    .execute()
}

/** Whether a job of the backup is queued or under way. Locks the backup until the transaction ends. */
export async function lockForDeletion(tx: TenantTx, id: string): Promise<'gone' | 'busy' | 'free'> {
  const backup = await seen(tx, tx.db.selectFrom('backups').where('id', '=', id))
    .select('id')
    .forUpdate()
    .executeTakeFirst()
  if (!backup) return 'gone'
  const job = await tx.db
    .selectFrom('backup_jobs')
    .select('id')
    .where('backup_id', '=', id)
    .where('status', 'in', ['queued', 'running'])
    .limit(1)
    .executeTakeFirst()
  return job ? 'busy' : 'free'
}

export async function deleteBackup(tx: TenantTx, id: string): Promise<void> {
  await tx.db.deleteFrom('backups').where('id', '=', id).execute()
}

export type Backup = Omit<BackupsTable, 'id'> & { backup_id: string }
export type BackupJob = BackupJobsTable
