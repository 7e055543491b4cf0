import type { EntryKey, PgConnection } from '../../platform/db/index.ts'
import { type Actor, appendOn, journalEntry } from '../../platform/journal/index.ts'

/**
 * Returns the tenants that a restore deletes: those that are deleted in the backup but not in the current data. A full
 * restore also deletes tenants that the backup does not contain.
 */
export async function leavingTenants(
  client: PgConnection,
  tenantId: number | null,
): Promise<number[]> {
  const { rows } = await client.query<{ id: string }>(
    `select live.id from tenants live left join stage_tenants stage on stage.id = live.id
     where live.deleted_at is null and (stage.deleted_at is not null
       or stage.id is null and not live.is_platform and $1::bigint is null)
     order by 1`,
    [tenantId],
  )
  return rows.map(({ id }) => Number(id))
}

/** Marks tenants as deleted, like a deletion request. Their data stays, so each tenant can be restored. */
export async function deleteTenants(
  client: PgConnection,
  tenants: readonly number[],
  { actor, entryKey }: { actor: Actor; entryKey: EntryKey },
): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    'update tenants set deleted_at = now() where id = any($1) returning id',
    [tenants],
  )
  const deleted = rows.map(({ id }) => ({ id: Number(id), tenant_id: Number(id) }))
  const entries = deleted.map((tenant) => journalEntry('tenant.deleted', 'tenant', tenant))
  await appendOn(client, entryKey, actor, entries)
}
