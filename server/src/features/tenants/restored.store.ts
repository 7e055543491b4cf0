import type { PgConnection } from '../../platform/db/index.ts'
import type { Actor } from '../../platform/journal/index.ts'

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
  { user_id, user_email, origin }: Actor,
): Promise<void> {
  const from = [origin?.ip ?? null, origin?.user_agent ?? null, origin?.request_id ?? null]
  await client.query(
    `with deleted as (
       update tenants set deleted_at = now() where id = any($6) returning id)
     insert into journal
       (tenant_id, user_id, user_email, action, resource_type, resource_id, ip, user_agent, request_id)
     select id, $1, $2, 'tenant.deleted', 'tenant', id, $3, $4, $5 from deleted`,
    [user_id, user_email, ...from, tenants],
  )
}
