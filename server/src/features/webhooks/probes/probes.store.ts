/** The SQL of asking the receivers of deactivated webhooks whether they answer again. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export interface Probed {
  id: number
  tenant_id: number
}

/**
 * Takes up to `limit` webhooks that failures have deactivated, those first that were never asked, and
 * notes that they are asked now: whoever takes some at the same time gets others.
 * @param before when they were last asked, at the latest
 * @param failingSince how long ago their receivers may have begun to fail, where they were sent anything yet: one at
 *   a new URL was not
 */
export async function takeProbes(
  tx: TenantTx,
  at: { now: string; before: string; failingSince: string },
  limit: number,
): Promise<Probed[]> {
  const { rows } = await sql<Probed>`
    with chosen as (
      select q.webhook_id from webhook_queues q
        join webhooks w on w.id = q.webhook_id and not w.is_active and w.disabled_reason = 'failing'
        join tenants t on t.id = q.tenant_id and t.is_active and t.deleted_at is null
      where (q.probed_at is null or q.probed_at <= ${at.before}::timestamptz)
        and coalesce(q.failing_since >= ${at.failingSince}::timestamptz, true)
      order by q.probed_at nulls first, q.webhook_id limit ${limit}
      for update of q skip locked
    )
    update webhook_queues q set probed_at = ${at.now}::timestamptz from chosen
    where q.webhook_id = chosen.webhook_id
    returning q.webhook_id as id, q.tenant_id`.execute(tx.db)
  return rows
}

/** Notes what came of it; of a receiver that was changed meanwhile it says nothing. */
export async function noteProbe(
  tx: TenantTx,
  { id, askedAt, hasAnswered }: { id: number; askedAt: string; hasAnswered: boolean },
): Promise<void> {
  await sql`
    update webhook_queues
    set answered_at = case when ${hasAnswered} then coalesce(answered_at, probed_at) end,
      failing_since = case when ${hasAnswered} then failing_since
        else coalesce(failing_since, probed_at) end
    where webhook_id = ${id} and probed_at = ${askedAt}::timestamptz`.execute(tx.db)
}
