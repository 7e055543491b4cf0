/** SQL that finds webhooks that were deactivated because their receivers failed. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export interface Disabled {
  id: number
  tenant_id: number
  failing_since: string | null
  answered_at: string | null
}

/** Returns the webhooks that were deactivated because their receivers failed. */
export async function listDisabled(tx: TenantTx): Promise<Disabled[]> {
  const { rows } = await sql<Disabled>`
    select w.id, w.tenant_id, q.failing_since, q.answered_at
    from webhooks w join webhook_queues q on q.webhook_id = w.id
      join tenants t on t.id = w.tenant_id and t.is_active and t.deleted_at is null
    where not w.is_active and w.disabled_reason = 'failing' order by w.id`.execute(tx.db)
  return rows
}

/** Returns whether a webhook is still deactivated because of failures, although its receiver responds again. */
export async function answersAgain(tx: TenantTx, id: number): Promise<boolean> {
  const { rows } = await sql`
    select from webhooks w join webhook_queues q on q.webhook_id = w.id
    where w.id = ${id} and not w.is_active and w.disabled_reason = 'failing'
      and q.answered_at is not null`.execute(tx.db)
  return rows.length > 0
}
