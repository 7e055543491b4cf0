/** The SQL for running backup jobs: claiming a job, its progress, and its outcome. */
import { sql } from 'kysely'
import { LOCKS, type PgConnection, statement, type TenantTx } from '../../../platform/db/index.ts'
import type { Actor } from '../../../platform/journal/index.ts'
import type { BackupJobKind, BackupReason } from '../backups.table.ts'
import type { BackupType } from '../file/format.ts'
import type { RestoreResult } from '../restore-in-place/outcome.ts'
import { NotStoredError } from '../stores/store.ts'
import type { Progress } from './progress.ts'
import '../backups.table.ts'

/** A job, with what is recorded about its backup. */
export interface Job {
  id: string
  number: number
  kind: BackupJobKind
  backup_id: string
  tenant_id: number | null
  type: BackupType
  reason: BackupReason
  sha256: string | null
  rewritten_at: string | null
  options: object
  actor: Actor
}

const jobs = (tx: TenantTx) =>
  tx.db
    .selectFrom('backup_jobs')
    .innerJoin('backups', 'backups.id', 'backup_jobs.backup_id')
    .select([
      'backup_jobs.id',
      'backup_jobs.number',
      'backup_jobs.kind',
      'backup_jobs.backup_id',
      'backup_jobs.tenant_id',
      'backups.type',
      'backups.reason',
      'backups.sha256',
      'backups.rewritten_at',
      'backup_jobs.options',
      'backup_jobs.actor',
    ])
    .orderBy('backup_jobs.number')

/** Returns the oldest queued job. With an id, returns only that job. Returns undefined if no such job is queued. */
export function findQueued(tx: TenantTx, id?: string): Promise<Job | undefined> {
  const queued = jobs(tx).where('backup_jobs.status', '=', 'queued')
  const wanted = id === undefined ? queued : queued.where('backup_jobs.id', '=', id)
  return wanted.limit(1).executeTakeFirst()
}

/** Returns true if a running process claims queued jobs (see presence.ts). */
export async function isTakenByOthers(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql<{ is_taken: boolean }>`
    select exists (
      select from pg_locks
      where locktype = 'advisory' and granted and objsubid = 2
        and classid = ${LOCKS.longJobTakers} and objid = 0
        and database = (select oid from pg_database where datname = current_database())
    ) as is_taken`.execute(tx.db)
  return rows[0]?.is_taken === true
}

/** Thrown when the lock of a running job was lost, or another process ended the job. */
export class LostJobError extends Error {
  constructor() {
    super('The process lost its database connection. Start the job again')
  }
}

/**
 * Acquires a shared lock on the job for as long as this connection lives. Other connections of this process share the
 * lock.
 * @throws LostJobError if another process is testing the lock. This can happen only after this process has lost its
 * other shared lock.
 */
export async function shareJob(
  client: PgConnection,
  { number }: Pick<Job, 'number'>,
): Promise<void> {
  const { rows } = await client.query<{ acquired: boolean }>(
    'select pg_try_advisory_lock_shared($1, $2) as acquired',
    [LOCKS.longJobs, number],
  )
  if (rows[0]?.acquired !== true) throw new LostJobError()
}

/** The maximum wait of a queued restore. A late restore would silently discard newer changes. */
const RESTORE_WAITS_AT_MOST = '1 hour'

/** Returns when the restore was requested, if it has waited too long. Otherwise returns undefined. */
export async function findLapsed(tx: TenantTx, id: string): Promise<string | undefined> {
  const lapsed = await tx.db
    .selectFrom('backup_jobs')
    .select('created_at')
    .where('id', '=', id)
    .where(sql<boolean>`created_at < now() - ${RESTORE_WAITS_AT_MOST}::interval`)
    .executeTakeFirst()
  return lapsed?.created_at
}

/** Marks a queued job as running. Returns false if the job is no longer queued, because another process started it. */
export async function beginJob(tx: TenantTx, { id, kind, backup_id }: Job): Promise<boolean> {
  const begun = await tx.db
    .updateTable('backup_jobs')
    .set({ status: 'running', started_at: sql`now()`, progress: 0, phase: null, done: null })
    .where('id', '=', id)
    .where('status', '=', 'queued')
    .returning('id')
    .executeTakeFirst()
  if (begun && kind === 'create') await setStatus(tx, backup_id, 'running')
  return begun !== undefined
}

/** Returns the start time of the job. Each attempt of a job has a different start time. */
export const findBeginning = (tx: TenantTx, { id }: Pick<Job, 'id'>) =>
  tx.db
    .selectFrom('backup_jobs')
    .select(['id', 'started_at'])
    .where('id', '=', id)
    .executeTakeFirst()

/** Returns a running job to the queue. Does nothing if the job is no longer running. */
export async function requeueJob(tx: TenantTx, { id, kind, backup_id }: Job): Promise<void> {
  const queued = await tx.db
    .updateTable('backup_jobs')
    .set({ status: 'queued', started_at: null, progress: 0, phase: null, done: null })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .returning('id')
    .executeTakeFirst()
  if (queued && kind === 'create') await setStatus(tx, backup_id, 'queued')
}

async function setStatus(tx: TenantTx, id: string, status: 'queued' | 'running' | 'failed') {
  await tx.db.updateTable('backups').set({ status }).where('id', '=', id).execute()
}

/** Records the progress of a job. Returns true if a user has cancelled the job. */
export async function saveProgress(
  tx: TenantTx,
  id: string,
  { share, ...progress }: Progress,
): Promise<boolean> {
  const saved = await tx.db
    .updateTable('backup_jobs')
    .set({
      ...progress,
      progress: share,
      progressed_at: sql`now()`,
      counted_since: sql`case when phase = ${progress.phase} then counted_since else now() end`,
    })
    .where('id', '=', id)
    .returning(sql<boolean>`cancelled_by is not null`.as('is_cancelled'))
    .executeTakeFirst()
  return saved?.is_cancelled === true
}

/**
 * Locks the job's row until the transaction ends, so that no other process can end the job in the meantime.
 * @throws LostJobError if another process has ended the job. Also thrown if `findAbandoned` has found the job's lock
 * free, because that process may be deleting the job's files.
 */
export async function requireAtWork(
  tx: TenantTx,
  { id, number }: Pick<Job, 'id' | 'number'>,
): Promise<void> {
  if (!(await lockRunning(tx, id)) || (await freeOf(tx, [number])).has(number))
    throw new LostJobError()
}

/** Limits lock waits in the transaction to a short time, because a shutdown waits for the transaction. */
export async function waitBriefly(tx: TenantTx): Promise<void> {
  await sql`set local lock_timeout = '2s'`.execute(tx.db)
}

async function lockRunning(tx: TenantTx, id: string): Promise<boolean> {
  const running = await tx.db
    .selectFrom('backup_jobs')
    .select('id')
    .where('id', '=', id)
    .where('status', '=', 'running')
    .forUpdate()
    .executeTakeFirst()
  return running !== undefined
}

/** Returns true if the job is completed. If a transaction is just completing the job, waits until it commits. */
export async function isCompleted(tx: TenantTx, id: string): Promise<boolean> {
  const job = await tx.db
    .selectFrom('backup_jobs')
    .select('status')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  return job?.status === 'completed'
}

/** Ends a running job: as failed if there is an error, otherwise as completed. */
const end = statement<{ id: string; error: string | null; result: string | null }>(
  (value) => sql`
    update backup_jobs set error = ${value('error')}, result = ${value('result')},
      finished_at = now(),
      status = case when ${value('error')}::text is null then 'completed' else 'failed' end,
      progress = case when ${value('error')}::text is null then 1 else progress end
    where id = ${value('id')} and status = 'running' returning id`,
)

const ending = (id: string, error: string | null, result: object | null) =>
  end({ id, error, result: result === null ? null : JSON.stringify(result) })

/** Ends a running job. Returns false if the job had already ended. */
export async function endJob(
  tx: TenantTx,
  { id, kind, backup_id }: Pick<Job, 'id' | 'kind' | 'backup_id'>,
  error: string | null,
  result: object | null = null,
): Promise<boolean> {
  const [ended] = await tx.sendFor<{ id: string }>(ending(id, error, result)).rows
  if (ended && error !== null && kind === 'create') await setStatus(tx, backup_id, 'failed')
  return ended !== undefined
}

/**
 * Marks a restore job as completed, in the transaction of the restore.
 * @throws LostJobError if another process already ended the job and recorded that nothing was restored
 */
export async function completeRestore(
  client: PgConnection,
  id: string,
  result: RestoreResult,
): Promise<void> {
  const query = ending(id, null, result)
  const { rowCount } = await client.query(query.sql, [...query.parameters])
  if (rowCount === 0) throw new LostJobError()
}

/** Marks an existing backup as queued, because it is created again. Returns false if it does not exist. */
export async function beginAgain(tx: TenantTx, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('backups')
    .set({ status: 'queued', verified_at: null })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Marks the unfinished safety backups of a restore as failed, and returns their ids. Finds them by the restore's scope,
 * because only one restore per scope runs at a time. Returns none if the restore has ended, because unfinished safety
 * backups may then belong to a later restore.
 */
export async function failSafeties(
  tx: TenantTx,
  { id, tenant_id: tenantId }: Pick<Job, 'id' | 'tenant_id'>,
): Promise<string[]> {
  if (!(await lockRunning(tx, id))) return []
  const failed = await tx.db
    .updateTable('backups')
    .set({ status: 'failed' })
    .where('reason', '=', 'safety')
    .where('status', '=', 'queued')
    .where('tenant_id', 'is not distinct from', tenantId)
    .returning('id')
    .execute()
  return failed.map(({ id }) => id)
}

export interface CreatedBackup {
  size_bytes: number
  sha256: string
  records: number
  schema_version: number
  /** When the store's lock on the file ends; null if no lock is known. */
  locked_until: string | null
}

/** Marks a backup as completed and verified. @throws NotStoredError if it was purged or marked as failed */
export async function completeBackup(tx: TenantTx, id: string, made: CreatedBackup): Promise<void> {
  const { numUpdatedRows } = await tx.db
    .updateTable('backups')
    .set({ ...made, status: 'completed', verified_at: sql`now()` })
    .where('id', '=', id)
    .where('status', '<>', 'failed')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new NotStoredError('the backup no longer exists')
}

/** Returns running jobs whose lock no process holds, because their process has died. Skips jobs whose row is locked. */
export async function findAbandoned(tx: TenantTx): Promise<Job[]> {
  const running = await jobs(tx)
    .where('backup_jobs.status', '=', 'running')
    .forUpdate('backup_jobs')
    .skipLocked()
    .execute()
  const free = await freeOf(
    tx,
    running.map(({ number }) => number),
  )
  return running.filter(({ number }) => free.has(number))
}

/** Returns the jobs whose lock is free. Acquires these locks until the transaction ends. */
async function freeOf(tx: TenantTx, numbers: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ number: number }>`
    select number from unnest(${numbers}::int[]) as jobs (number)
    where pg_try_advisory_xact_lock(${LOCKS.longJobs}, number)`.execute(tx.db)
  return new Set(rows.map(({ number }) => number))
}
