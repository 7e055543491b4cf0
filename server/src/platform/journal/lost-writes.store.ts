import { sql } from 'kysely'
import type { RecentEntry, TenantTx } from '../db/index.ts'
import './journal.table.ts'

/** Returns the entries that the journal lacks. Looks up each by its key, to read only its partition. */
export async function findMissing(
  tx: TenantTx,
  entries: readonly RecentEntry[],
): Promise<RecentEntry[]> {
  const { rows } = await sql<{ position: number }>`
    select kept.position
    from jsonb_array_elements(${JSON.stringify(entries)}::jsonb) with ordinality as kept (entry, position),
      jsonb_to_record(kept.entry) as own (id bigint, created_at timestamptz, tenant_id bigint,
        action text, resource_type text, resource_id text)
    where (
      select true from journal j where j.id = own.id and j.created_at = own.created_at
        and j.action = own.action and j.resource_type = own.resource_type
        and j.tenant_id is not distinct from own.tenant_id
        and j.resource_id is not distinct from own.resource_id
    ) is null
    -- Entries past their retention were removed.
    and not exists (select from journal_prunings removed
      where removed.tenant_id = coalesce(own.tenant_id, 0) and own.created_at <= removed.until)`.execute(
    tx.db,
  )
  const missing = new Set(rows.map(({ position }) => Number(position)))
  return entries.filter((_, at) => missing.has(at + 1))
}

/**
 * Sets normal durability and lock timeouts, which the listener's connection lacks. Creates the partition for the
 * journal entry, which a restored server may not have.
 */
export async function prepareRecord(tx: TenantTx): Promise<void> {
  await sql`set local synchronous_commit = on`.execute(tx.db)
  await sql`set local lock_timeout = '10s'`.execute(tx.db)
  await sql`select ensure_journal_partitions(0)`.execute(tx.db)
}

/** Records missing entries. Returns true if this is the first loss recorded for the server. */
export async function recordLoss(
  tx: TenantTx,
  server: string,
  missing: readonly RecentEntry[],
): Promise<boolean> {
  const entries = JSON.stringify(missing)
  const first = await tx.db
    .insertInto('lost_writes')
    .values({ server, entries })
    // Waits for another node that is recording the same loss.
    .onConflict((conflict) => conflict.column('server').doNothing())
    .returning('id')
    .executeTakeFirst()
  if (first) return true
  await tx.db
    .updateTable('lost_writes')
    .set({ entries: sql`entries || ${entries}::jsonb`, closed_at: null })
    .where('server', '=', server)
    .execute()
  return false
}

/** Returns the platform tenant, and those of the given tenants that were created before the loss. */
export async function listConcerned(
  tx: TenantTx,
  tenantIds: readonly number[],
  before: string,
): Promise<{ id: number; is_platform: boolean }[]> {
  // Compares the creation time too, because a new tenant may have got the id of a lost tenant.
  return tx.db
    .selectFrom('tenants')
    .select(['id', 'is_platform'])
    .where((eb) =>
      eb.or([
        eb('is_platform', '=', true),
        eb.and([eb('id', 'in', [0, ...tenantIds]), eb('created_at', '<=', before)]),
      ]),
    )
    .execute()
}

/** A loss that no operator has closed yet. */
export interface OpenLoss {
  id: number
  noticed_at: string
  entries: RecentEntry[]
}

export function listOpenLosses(tx: TenantTx): Promise<OpenLoss[]> {
  return tx.db
    .selectFrom('lost_writes')
    .select(['id', 'noticed_at', 'entries'])
    .where('closed_at', 'is', null)
    .orderBy('id')
    .$castTo<OpenLoss>()
    .execute()
}

/** Closes a loss. Returns true if the loss was open. */
export async function closeLoss(tx: TenantTx, id: number): Promise<boolean> {
  const closed = await tx.db
    .updateTable('lost_writes')
    .set({ closed_at: sql`now()` })
    .where('id', '=', id)
    .where('closed_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return closed !== undefined
}
