/** The SQL of backups and of their jobs, as people see them. */
import { type SelectQueryBuilder, sql } from 'kysely'
import { Problem } from '../../lib/problems.ts'
import { type Database, LOCKS, ofScope, type TenantTx } from '../../platform/db/index.ts'
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

/**
 * Why one is of no use: what was wrong with its file, or why the job failed that was to make it. A safety backup has
 * none of its own, but is made within a restore, of which there is one at a time.
 */
const ERROR = sql<string | null>`coalesce(fault, case when status = 'failed' then (
  select job.error from backup_jobs job
  where job.status = 'failed' and (job.kind = 'create' and job.backup_id = backups.id
    or backups.reason = 'safety' and job.kind = 'restore'
      and job.tenant_id is not distinct from backups.tenant_id
      and backups.created_at between job.started_at and job.finished_at)
  order by job.number desc limit 1) end)`.as('error')

/** What is said where another job of the kind waits or is at work: the schema has one at a time. */
const BUSY: Record<JobKind, () => Problem> = {
  create: () => new Problem('backup_running'),
  restore: () => new Problem('restore_running'),
  // Asked for by the command line alone.
  forget: () =>
    new Problem('backup_running', {
      detail: 'Another backup is being written anew; wait for its end',
    }),
}

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
    .select([...BACKUP, ERROR])
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
    .select([...BACKUP, ERROR])
    .executeTakeFirst()
}

export function findJob(tx: TenantTx, id: string) {
  return seen(tx, tx.db.selectFrom('backup_jobs').where('id', '=', id))
    .select(JOB)
    .executeTakeFirst()
}

/** A tenant as deletions leave it; undefined for one that is purged, or never was. */
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

/** @throws Problem 409 where one of its kind waits or is at work, of the same tenant or of everything */
export async function insertJob(tx: TenantTx, job: NewJob): Promise<void> {
  const { numInsertedOrUpdatedRows } = await tx.db
    .insertInto('backup_jobs')
    .values({
      options: '{}',
      ...job,
      error: null,
      result: null,
      started_at: null,
      finished_at: null,
    })
    .onConflict((one) => one.doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) throw BUSY[job.kind]()
}

/** The number that a backup is locked by where it is read: of two that share one, each counts as read with the other. */
export const readLockOf = (id: string): number => Number.parseInt(id.slice(0, 8), 16) | 0

/**
 * Whether a job of the backup is queued or under way, or somebody reads it, on whatever node. Locks the backup until
 * the transaction ends, also against readers.
 */
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
  if (job) return 'busy'
  return (await keepReadersOff(tx, id)) ? 'free' : 'busy'
}

/** Whether a restore of the backup waits, or is at work. */
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

/** Keeps readers off the backup until the transaction ends. Returns false where somebody reads it. */
export async function keepReadersOff(tx: TenantTx, id: string): Promise<boolean> {
  const { rows } = await sql<{ is_unread: boolean }>`
    select pg_try_advisory_xact_lock(${LOCKS.longReads}, ${readLockOf(id)}) as is_unread
  `.execute(tx.db)
  return rows[0]?.is_unread === true
}

export async function deleteBackup(tx: TenantTx, id: string): Promise<void> {
  await tx.db.deleteFrom('backups').where('id', '=', id).execute()
}

export type Backup = Omit<BackupsTable, 'id'> & { backup_id: string }
export type BackupJob = BackupJobsTable
