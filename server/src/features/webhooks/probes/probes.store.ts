/** The SQL for probing the receivers of deactivated webhooks. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export interface Probed {
  id: number
  tenant_id: number
}

/**
 * Claims up to `limit` webhooks that were deactivated because of failures, starting with those that were never probed.
 * Marks them as probed now, so that concurrent callers claim other webhooks.
 * @param before the latest time of the previous probe. Webhooks that were probed later are skipped.
 * @param failingSince the earliest start of the failures. Webhooks that have failed for longer are skipped. Webhooks
 * with a new URL, which have no failures yet, are included.
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

/** Records the result of a probe. Records nothing if the queue was reset after the probe had started. */
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
