/** SQL for the figures of payments by tenant and provider. */
import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import type { Provider } from '../payment-facts.ts'
import type { PaymentStatus } from '../states.ts'
import '../payments.table.ts'

export interface StatusCount {
  tenant_id: number
  tenant_name: string
  provider: Provider
  status: PaymentStatus
  count: number
  last_at: string
}

/** Returns the number of tenants in the scope. */
export async function countTenants(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from tenants where ${ofScope(tx, 'id')}`.execute(tx.db)
  return rows[0]?.count ?? 0
}

/** Counts the latest payments of each tenant in a period, by provider and status. Payments in test mode do not count. */
export async function countByStatus(
  tx: TenantTx,
  { from, until }: { from: string; until: string },
  maxPerTenant: number,
): Promise<StatusCount[]> {
  const { rows } = await sql<StatusCount>`
    select t.id as tenant_id, t.name as tenant_name, p.provider, p.status, count(*) as count,
      max(p.created_at) as last_at
    from tenants t cross join lateral (
      select provider, status, created_at, test from payments
      where tenant_id = t.id and created_at >= ${from}::timestamptz and created_at < ${until}::timestamptz
      order by created_at desc, id desc limit ${maxPerTenant}) p
    where ${ofScope(tx, 't.id')} and t.deleted_at is null and not p.test
    group by t.id, t.name, p.provider, p.status`.execute(tx.db)
  return rows
}
