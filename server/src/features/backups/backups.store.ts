/** The SQL for backups and their jobs, used by the API. */
import { type SelectQueryBuilder, sql } from 'kysely'
import { Problem } from '../../lib/problems.ts'
import { type Database, LOCKS, ofScope, type TenantTx } from '../../platform/db/index.ts'
import type { BackupJobKind, BackupJobsTable, BackupReason, BackupsTable } from './backups.table.ts'
import { LAST_TEST } from './drill/last-test.store.ts'
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

/**
 * Selects why a backup is unusable: the fault of its file, or the error of the job that created it. The error of a
 * safety backup is that of the restore job that created it. Only one restore runs at a time, so the times identify that
 * job.
 */
const ERROR = sql<string | null>`coalesce(fault, case when status = 'failed' then (
  select job.error from backup_jobs job
  where job.status = 'failed' and (job.kind = 'create' and job.backup_id = backups.id
    or backups.reason = 'safety' and job.kind = 'restore'
      and job.tenant_id is not distinct from backups.tenant_id
      and backups.created_at between job.started_at and job.finished_at)
  order by job.number desc limit 1) end)`.as('error')

/** The problem thrown if a job of the same kind is already queued or running. The schema allows only one at a time. */
const BUSY: Record<BackupJobKind, () => Problem> = {
  create: () => new Problem('backup_running'),
  restore: () => new Problem('restore_running'),
  // Only the command line creates jobs of this kind.
  forget: () =>
    new Problem('backup_running', {
      detail: 'Another backup is being rewritten. Wait until that ends.',
    }),
}

/** The maximum number of backups in a list. The total counts all backups. Retention keeps far fewer. */
const MAX_LISTED = 1_000

/**
 * Limits a query to the backups in the scope of the transaction. A tenant sees its own backups of type `tenant`. The
 * platform sees all backups except those of deleted tenants. Row-level security enforces the same limits.
 */
function inCallerScope<T extends 'backups' | 'backup_jobs', O>(
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
  const rows = await inCallerScope(tx, tx.db.selectFrom('backups'))
    .select([...BACKUP, ERROR, ...LAST_TEST])
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
  return inCallerScope(tx, tx.db.selectFrom('backups').where('id', '=', id))
    .select([...BACKUP, ERROR, ...LAST_TEST])
    .executeTakeFirst()
}

export function findJob(tx: TenantTx, id: string) {
  return inCallerScope(tx, tx.db.selectFrom('backup_jobs').where('id', '=', id))
    .select(JOB)
    .executeTakeFirst()
}

/** Returns when a tenant was deleted and when its purge started. Returns undefined if no such tenant row exists. */
export function findDeletion(tx: TenantTx, tenantId: number) {
  return tx.db
    .selectFrom('tenants')
    .select(['deleted_at', 'purge_started_at'])
    .where('id', '=', tenantId)
    .executeTakeFirst()
}

export interface NewBackup {
  id: string
  type: BackupType
  tenant_id: number | null
  reason: BackupReason
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
  kind: BackupJobKind
  /** The actor who requested the job, encoded as JSON. */
  actor: string
  options?: string
}

/** @throws Problem 409 while a job of the same kind and scope is queued or running */
export async function insertJob(tx: TenantTx, job: NewJob): Promise<void> {
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto('backup_jobs')
    .values({
      options: '{}',
      ...job,
      cancelled_by: null,
      error: null,
      result: null,
      started_at: null,
      finished_at: null,
    })
    .onConflict((one) => one.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) throw BUSY[job.kind]()
}

/** Returns the key of the advisory lock that readers of a backup share. Two backups may have the same key. */
export const readLockOf = (id: string): number => Number.parseInt(id.slice(0, 8), 16) | 0

/**
 * Locks a backup for deletion until the transaction ends. Returns 'gone' if the backup no longer exists. Returns 'busy'
 * while a job for it is queued or running, or any node is reading its file.
 */
export async function lockForDeletion(tx: TenantTx, id: string): Promise<'gone' | 'busy' | 'free'> {
  const backup = await inCallerScope(tx, tx.db.selectFrom('backups').where('id', '=', id))
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
  if (job) return 'busy'
  return (await keepReadersOff(tx, id)) ? 'free' : 'busy'
}

/** Returns true while a restore of the backup is queued or running. */
export async function isBeingRestored(tx: TenantTx, id: string): Promise<boolean> {
  const job = await tx.db
    .selectFrom('backup_jobs')
    .select('id')
    .where('backup_id', '=', id)
    .where('kind', '=', 'restore')
    .where('status', 'in', ['queued', 'running'])
    .limit(1)
    .executeTakeFirst()
  return job !== undefined
}

/** Blocks new readers of the backup until the transaction ends. Returns false if the file is being read. */
export async function keepReadersOff(tx: TenantTx, id: string): Promise<boolean> {
  const { rows } = await sql<{ is_unread: boolean }>`
    select pg_try_advisory_xact_lock(${LOCKS.longReads}, ${readLockOf(id)}) as is_unread
  `.execute(tx.db)
  return rows[0]?.is_unread === true
}

export async function deleteBackup(tx: TenantTx, id: string): Promise<void> {
  await tx.db.deleteFrom('backups').where('id', '=', id).execute()
}

export type BackupRow = Omit<BackupsTable, 'id'> & { backup_id: string }
export type BackupJobRow = BackupJobsTable
