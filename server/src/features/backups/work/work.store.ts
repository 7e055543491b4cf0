/** The SQL of the work on backups: which job is whose, how far it is, and how it ended. */
import { sql } from 'kysely'
import { type Connection, LOCKS, type TenantTx } from '../../../platform/db/index.ts'
import type { Actor } from '../../../platform/journal/index.ts'
import type { JobKind, Reason } from '../backups.table.ts'
import type { BackupType } from '../file/format.ts'
import { NotStoredError } from '../stores/store.ts'
import '../backups.table.ts'

/** A job with the backup that it is about. */
export interface Job {
  id: string
  number: number
  kind: JobKind
  backup_id: string
  tenant_id: number | null
  type: BackupType
  reason: Reason
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

/** The oldest job that nobody has begun, or that one of these that has the id. */
export function findQueued(tx: TenantTx, id?: string): Promise<Job | undefined> {
  const queued = jobs(tx).where('backup_jobs.status', '=', 'queued')
  const wanted = id === undefined ? queued : queued.where('backup_jobs.id', '=', id)
  return wanted.limit(1).executeTakeFirst()
}

/** Whether a process lives that takes what waits (see presence.ts). */
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

/** Nobody holds the lock of a job that is to be at work, or somebody else has ended it. */
export class LostJobError extends Error {
  constructor() {
    super('The process that did it was cut off from the database; ask for it again')
  }
}

/**
 * Holds the job's lock beside whoever of this process holds it, for as long as the connection lives.
 * @throws LostJobError where somebody looks just then whether it is held: it is not any more
 */
export async function shareJob(client: Connection, { number }: Pick<Job, 'number'>): Promise<void> {
  const { rows } = await client.query<{ held: boolean }>(
    'select pg_try_advisory_lock_shared($1, $2) as held',
    [LOCKS.longJobs, number],
  )
  if (rows[0]?.held !== true) throw new LostJobError()
}

/** Who orders a restore expects it then: what was entered later would be gone without a warning. */
const RESTORE_WAITS_AT_MOST = '1 hour'

/** When a restore was ordered that has waited for too long; undefined where it is in time. */
export async function findLapsed(tx: TenantTx, id: string): Promise<string | undefined> {
  const lapsed = await tx.db
    .selectFrom('backup_jobs')
    .select('created_at')
    .where('id', '=', id)
    .where(sql<boolean>`created_at < now() - ${RESTORE_WAITS_AT_MOST}::interval`)
    .executeTakeFirst()
  return lapsed?.created_at
}

/** Says that the job runs. Returns false where somebody else began it meanwhile. */
export async function beginJob(tx: TenantTx, { id, kind, backup_id }: Job): Promise<boolean> {
  const begun = await tx.db
    .updateTable('backup_jobs')
    .set({ status: 'running', started_at: sql`now()`, progress: 0 })
    .where('id', '=', id)
    .where('status', '=', 'queued')
    .returning('id')
    .executeTakeFirst()
  if (begun && kind === 'create') await setStatus(tx, backup_id, 'running')
  return begun !== undefined
}

/** Gives it back to whoever comes next, unless it has ended. */
export async function requeueJob(tx: TenantTx, { id, kind, backup_id }: Job): Promise<void> {
  const queued = await tx.db
    .updateTable('backup_jobs')
    .set({ status: 'queued', started_at: null, progress: 0 })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .returning('id')
    .executeTakeFirst()
  if (queued && kind === 'create') await setStatus(tx, backup_id, 'queued')
}

async function setStatus(tx: TenantTx, id: string, status: 'queued' | 'running' | 'failed') {
  await tx.db.updateTable('backups').set({ status }).where('id', '=', id).execute()
}

export async function saveProgress(tx: TenantTx, id: string, progress: number): Promise<void> {
  await tx.db.updateTable('backup_jobs').set({ progress }).where('id', '=', id).execute()
}

/**
 * Keeps others from ending the job until the transaction is over, so that all of it counts, or nothing.
 * @throws LostJobError where they have, or may have begun to delete its files: `findAbandoned` locks the same
 */
export async function requireAtWork(
  tx: TenantTx,
  { id, number }: Pick<Job, 'id' | 'number'>,
): Promise<void> {
  if (!(await lockRunning(tx, id)) || (await freeOf(tx, [number])).has(number))
    throw new LostJobError()
}

/** Has the transaction give up soon where others hold what it needs: whoever stops the process waits as well. */
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

/** Whether the job is over, and went well. Waits for a commit of its end that is still under way. */
export async function isCompleted(tx: TenantTx, id: string): Promise<boolean> {
  const job = await tx.db
    .selectFrom('backup_jobs')
    .select('status')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  return job?.status === 'completed'
}

/** Ends a job that runs. Returns false where it had ended already. */
export async function endJob(
  tx: TenantTx,
  { id, kind, backup_id }: Pick<Job, 'id' | 'kind' | 'backup_id'>,
  error: string | null,
  result: object | null = null,
): Promise<boolean> {
  const ended = await tx.db
    .updateTable('backup_jobs')
    .set({
      status: error === null ? 'completed' : 'failed',
      error,
      result: result === null ? null : JSON.stringify(result),
      finished_at: sql`now()`,
      ...(error === null ? { progress: 1 } : {}),
    })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .returning('id')
    .executeTakeFirst()
  if (ended && error !== null && kind === 'create') await setStatus(tx, backup_id, 'failed')
  return ended !== undefined
}

/** Says that a backup that was whole is not any more, as it is made anew. Returns whether there is one. */
export async function beginAgain(tx: TenantTx, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('backups')
    .set({ status: 'queued', verified_at: null })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Fails the safety backups that the restore has begun and not made. Returns them: those of its scope, as only one
 * restore of it runs at a time. None where the restore runs no more: they may be a later one's.
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

export interface Made {
  size_bytes: number
  sha256: string
  records: number
  schema_version: number
  /** Until when the store keeps it whatever happens; null where that is not known. */
  locked_until: string | null
}

/**
 * Says that a backup is whole, and that it has been read to its end.
 * @throws NotStoredError where it was purged meanwhile, with its tenant, or has failed by what others know
 */
export async function completeBackup(tx: TenantTx, id: string, made: Made): Promise<void> {
  const { numUpdatedRows } = await tx.db
    .updateTable('backups')
    .set({ ...made, status: 'completed', verified_at: sql`now()` })
    .where('id', '=', id)
    .where('status', '<>', 'failed')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new NotStoredError('the backup is gone')
}

/** The jobs that run by their rows, though nobody holds their lock: their process has died. */
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

/** Those of the jobs whose lock nobody holds. */
async function freeOf(tx: TenantTx, numbers: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ number: number }>`
    select number from unnest(${numbers}::int[]) as jobs (number)
    where pg_try_advisory_xact_lock(${LOCKS.longJobs}, number)`.execute(tx.db)
  return new Set(rows.map(({ number }) => number))
}
