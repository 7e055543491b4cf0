/** The SQL for the schedule and retention: finds running, outdated and verified backups. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { TESTED_AT } from '../drill/last-test.store.ts'
import type { BackupType } from '../file/format.ts'
import '../backups.table.ts'

/** Returns true if a backup of the tenant is queued or running. Checks for a full backup if `tenantId` is null. */
export async function isBeingCreated(tx: TenantTx, tenantId: number | null): Promise<boolean> {
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

export interface OutdatedBackup {
  id: string
  type: BackupType
  tenant_id: number | null
  created_at: string
  locked_until: string | null
  rewritten_at: string | null
}

/**
 * Returns the backups that are no longer needed. For each type and tenant, these are all except the newest `keep`
 * backups. Safety backups and failed backups do not count towards `keep`. They are returned once they are older than
 * `anyway`. The newest verified backup and the newest one with a test restore are never returned.
 */
export async function findOutdated(
  tx: TenantTx,
  { keep, anyway }: { keep: number; anyway: string },
): Promise<OutdatedBackup[]> {
  const { rows } = await sql<OutdatedBackup>`
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

/** Determines which former root keys the existing backups still need. */
export interface RootKeyNeed {
  /** When the oldest backup was requested; null if there is no backup. */
  oldest: string | null
  /** True if the store contains a backup that is unknown to the database. The age of that backup is unknown. */
  has_unknown: boolean
}

/**
 * Returns the oldest backup's time, and whether the store has unknown backups. Uses a single statement. With two
 * statements, a backup that is registered between them would be missed by both. A failed backup counts as long as its
 * file is stored.
 * @param stored the ids of the backups whose files are in the store
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

/** Returns which of the ids are registered in the database. Pass `failed: false` to exclude failed backups. */
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

/** A verified full backup. All fields are null if there is none. */
export interface VerifiedBackup {
  created_at: string | null
  verified_at: string | null
  /** The duration of the last test restore in seconds; null if there was none. */
  drill_seconds: number | null
  /** When the last test restore ended; null if there was none, or if its journal entry was archived. */
  tested_at: string | null
}

/** A full backup that proves something for one tenant. */
interface FullBackupProof extends VerifiedBackup {
  created_at: string
  verified_at: string
}

const verifiedFull = (tx: TenantTx) =>
  tx.db
    .selectFrom('backups')
    .select(['created_at', 'verified_at', 'drill_seconds', TESTED_AT])
    .where('type', '=', 'full')
    .where('status', '=', 'completed')
    .where('verified_at', 'is not', null)
    .$narrowType<{ verified_at: string }>()

/** Returns the newest verified full backup; null if there is none. */
export async function newestVerified(tx: TenantTx): Promise<VerifiedBackup | null> {
  const row = await verifiedFull(tx).orderBy('created_at', 'desc').limit(1).executeTakeFirst()
  return row ?? null
}

/**
 * Returns the newest full backup that contains the tenant and that a test restored. If no test restored one, returns
 * the newest verified one. Omits backups that were requested before the tenant was created, or that have a fault.
 */
export async function newestProofOf(
  tx: TenantTx,
  tenantId: number,
): Promise<FullBackupProof | null> {
  const row = await verifiedFull(tx)
    .where('fault', 'is', null)
    .where('created_at', '>=', (eb) =>
      eb.selectFrom('tenants').select('created_at').where('tenants.id', '=', tenantId),
    )
    .orderBy(sql`drill_seconds is not null`, 'desc')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}
