/**
 * The SQL for the names of the records in a restore's result. The stored result of a restore has none, so that it keeps
 * no name of a person who is deleted later.
 */
import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import type { RestoreResult } from './outcome.ts'

/** Adds the current names to the records that have none. Deleted records get no name. */
export async function addCaseNames(tx: TenantTx, result: RestoreResult): Promise<RestoreResult> {
  const { cases } = result.access
  const idsOf = (wanted: string) =>
    cases.flatMap(({ table, id, name }) => (table === wanted && !name ? [id] : []))
  // Returns only the host of a webhook's URL, because the path may contain a secret.
  const { rows } = await sql<{ key: string; name: string }>`
    select 'users ' || id as key, full_name as name from users
    where id = any(${idsOf('users')}::bigint[]) and ${ofScope(tx, 'tenant_id')}
    union all
    select 'tenants ' || id, name from tenants
    where id = any(${idsOf('tenants')}::bigint[]) and ${ofScope(tx, 'id')}
    union all
    select 'webhooks ' || id, substring(url from '^[a-z]+://(?:[^/?#]*@)?([^/?#]+)') from webhooks
    where id = any(${idsOf('webhooks')}::bigint[]) and ${ofScope(tx, 'tenant_id')}`.execute(tx.db)
  const names = new Map(rows.map(({ key, name }) => [key, name]))
  const named = cases.map((one) => ({
    ...one,
    name: one.name ?? names.get(`${one.table} ${one.id}`) ?? null,
  }))
  return { ...result, access: { ...result.access, cases: named } }
}
