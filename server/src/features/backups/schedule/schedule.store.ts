/** The SQL of what comes and goes by itself: what is planned, what is too old, what is proven. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { BackupType } from '../file/format.ts'
import '../backups.table.ts'

/** Whether a backup of the tenant, or of everything, is queued or being made. */
export async function isBeingMade(tx: TenantTx, tenantId: number | null): Promise<boolean> {
  const job = await tx.db
    .selectFrom('backup_jobs')
    .select('id')
    .where('kind', '=', 'create')
    .where('tenant_id', 'is not distinct from', tenantId)
    .where('status', 'in', ['queued', 'running'])
    .limit(1)
    .executeTakeFirst()
  return job !== undefined
}

export interface Outdated {
  id: string
  type: BackupType
  tenant_id: number | null
  created_at: string
  locked_until: string | null
  rewritten_at: string | null
}

/**
 * The backups that nobody needs any more: for each type and tenant those behind the newest `keep`. Safety
 * backups do not count, and go like failed ones once they are older than `anyway`. The newest proven one
 * and the newest one of a drill always stay.
 */
export async function findOutdated(
  tx: TenantTx,
  { keep, anyway }: { keep: number; anyway: string },
): Promise<Outdated[]> {
  const { rows } = await sql<Outdated>`
    with kept as (
      select id, type, tenant_id, created_at, locked_until, rewritten_at, reason,
        count(*) filter (where reason <> 'safety') over newest as place,
        verified_at is not null and 1 = count(*) filter (where verified_at is not null) over newest
          as is_proof,
        drill_seconds is not null and 1 = count(*) filter (where drill_seconds is not null) over newest
          as is_drilled
      from backups where status = 'completed'
      window newest as (partition by type, tenant_id order by created_at desc, id))
    select id, type, tenant_id, created_at, locked_until, rewritten_at from kept
    where not is_proof and not is_drilled
      and case when reason = 'safety' then created_at < ${anyway} else place > ${keep} end
    union all
    select id, type, tenant_id, created_at, locked_until, rewritten_at from backups
    where status = 'failed' and created_at < ${anyway}
    order by created_at`.execute(tx.db)
  return rows
}

/** How far back the root keys reach that backups still need. */
export interface RootKeyNeed {
  /** The request time of the oldest backup; null if there is none. */
  oldest: string | null
  /** True if the database does not know one of the stored backups, so its age is unknown. */
  has_unknown: boolean
}

/**
 * Reads the oldest backup and the unknown ones in a single statement. With two statements, a backup that is
 * adopted in between would count as known without counting as the oldest. A failed backup counts while its
 * file is still stored.
 * @param stored the ids of the backups whose files the store has
 */
export async function rootKeyNeed(tx: TenantTx, stored: readonly string[]): Promise<RootKeyNeed> {
  const { rows } = await sql<RootKeyNeed>`
    select
      (select min(created_at) from backups where status <> 'failed' or id = any(${stored}::uuid[]))
        as oldest,
      exists (
        select from unnest(${stored}::uuid[]) as file (id)
        where not exists (select from backups where backups.id = file.id)) as has_unknown
  `.execute(tx.db)
  return rows[0] as RootKeyNeed
}

/** The ids among these that the database knows; those that count as failed only with `failed`. */
export async function knownOf(
  tx: TenantTx,
  ids: readonly string[],
  { failed = true } = {},
): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const known = tx.db.selectFrom('backups').select('id').where('id', 'in', ids)
  const rows = await (failed ? known : known.where('status', '<>', 'failed')).execute()
  return new Set(rows.map(({ id }) => id))
}

/** When the newest backup of everything was taken that is proven to be readable; null without one. */
export async function newestProven(tx: TenantTx): Promise<string | null> {
  const row = await tx.db
    .selectFrom('backups')
    .select('created_at')
    .where('type', '=', 'full')
    .where('status', '=', 'completed')
    .where('verified_at', 'is not', null)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at ?? null
}
