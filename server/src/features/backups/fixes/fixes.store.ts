/** The SQL of the faults of backups: entries without a whole file, jobs without a process. */
import { sql } from 'kysely'
import { LOCKS, type TenantTx } from '../../../platform/db/index.ts'
import type { Status } from '../backups.table.ts'
import type { BackupType } from '../file/format.ts'

export interface Entry {
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

/** The entries that say that a backup is there; of these ids alone, where some are named. */
export function listEntries(tx: TenantTx, ids?: readonly string[]): Promise<Entry[]> {
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

/** Says that a backup is of no use. Returns what it was; undefined where it has not the status any more. */
export function failBackup(
  tx: TenantTx,
  id: string,
  from: readonly Status[],
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

/** The backup, but for these, that was read longest ago, where that is before; one that was found faulty comes again. */
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

/** Says that a backup was looked at, whatever came of it: it is the last in the row again. */
export async function saveChecked(tx: TenantTx, id: string): Promise<void> {
  await tx.db.updateTable('backups').set({ checked_at: sql`now()` }).where('id', '=', id).execute()
}

export interface StuckJob {
  id: string
  kind: string
  tenant_id: number | null
  progress: number
  started_at: string
}

/** The jobs that run by their rows, begun before the minute that is over, though nobody holds their lock. */
export async function listStuck(tx: TenantTx): Promise<StuckJob[]> {
  const { rows } = await sql<StuckJob>`
    select id, kind, tenant_id, progress, started_at from backup_jobs j
    where status = 'running' and started_at < now() - interval '1 minute' and ${isLiving}
      and not exists (
        select from pg_locks l
        where l.locktype = 'advisory' and l.granted and l.objsubid = 2
          and l.classid = ${LOCKS.longJobs} and l.objid = j.number::bigint::oid
          and l.database = (select oid from pg_database where datname = current_database()))
    order by number`.execute(tx.db)
  return rows
}

/** What a restore that died has begun to save before it: entries that nobody completes any more. */
export async function listUnfinished(tx: TenantTx): Promise<Entry[]> {
  return tx.db
    .selectFrom('backups')
    .select(ENTRY)
    .where('status', 'in', ['queued', 'running'])
    .where(sql<boolean>`created_at < now() - interval '1 hour'`)
    .where(isLiving)
    .where(
      sql<boolean>`not exists (select from backup_jobs j where j.status in ('queued', 'running')
        and (j.backup_id = backups.id or j.kind = 'restore'))`,
    )
    .orderBy('created_at')
    .execute()
}

/** How many backups and restores are not over. */
export async function countUnfinished(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ unfinished: number }>`
    select (select count(*) from backup_jobs where status in ('queued', 'running'))
      + (select count(*) from backups where status in ('queued', 'running')) as unfinished`.execute(
    tx.db,
  )
  return rows[0]?.unfinished ?? 0
}

/** Since when there is anything that a backup could hold. */
export async function beganAt(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ began_at: string | null }>`
    select min(created_at) as began_at from tenants`.execute(tx.db)
  return rows[0]?.began_at ?? null
}
