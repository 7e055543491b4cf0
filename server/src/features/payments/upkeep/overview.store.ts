/** SQL for the overview of payments: counts notifications that need an operator. */
import { sql } from 'kysely'
import { EXACT_TOTAL } from '../../../lib/page.ts'
import { ofInstallation, type TenantTx } from '../../../platform/db/index.ts'
import type { Provider } from '../payment-facts.ts'
import '../payments.table.ts'

export interface StuckNotifications {
  unverified: number
  failed: number
  oldest_since: string | null
}

/** Counts the unverified and failed notifications of the providers. The counts together stop at `EXACT_TOTAL`. */
export async function findStuck(
  tx: TenantTx,
  tenantId: number | null,
  providers: readonly Provider[],
): Promise<StuckNotifications> {
  const { rows } = await sql<StuckNotifications>`
    select count(*) filter (where state = 'unverified') as unverified,
      count(*) filter (where state = 'failed') as failed, min(received_at) as oldest_since
    from (
      select state, received_at from payment_notifications
      where state in ('unverified', 'failed') and provider = any(${providers}::text[])
        and ${ofInstallation(tx, 'tenant_id', tenantId)}
      limit ${sql.lit(EXACT_TOTAL)}) few`.execute(tx.db)
  return rows[0] as StuckNotifications
}
