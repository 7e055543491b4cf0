/** SQL for the state of one webhook: its waiting deliveries and its latest failure. */
import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import type { WebhookDetails } from '../webhooks.schema.ts'
import { MAX_WAITING } from './overview.store.ts'
import '../webhooks.table.ts'

/** Counts the waiting deliveries of a webhook, up to 1,000. */
export async function countWaiting(tx: TenantTx, webhookId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from webhook_deliveries
      where webhook_id = ${webhookId} and ${ofScope(tx, 'tenant_id')} and status = 'pending'
      limit ${sql.lit(MAX_WAITING)}) few`.execute(tx.db)
  return rows[0]?.count ?? 0
}

type LastFailure = NonNullable<WebhookDetails['last_failure']>

/** Returns the latest failure among the newest undelivered deliveries. Reads 20 deliveries per class of response. */
export async function findLastFailure(
  tx: TenantTx,
  webhookId: number,
): Promise<LastFailure | undefined> {
  const { rows } = await sql<LastFailure>`
    select a.started_at, a.status_code, a.error, a.detail
    from (values (0), (3), (4), (5)) c (class)
    cross join lateral (
      select entry_id, event_at from webhook_deliveries
      where webhook_id = ${webhookId} and ${ofScope(tx, 'tenant_id')} and status_class = c.class
        and status <> 'delivered'
      order by entry_id desc limit 20) d
    cross join lateral (
      select started_at, status_code, error, detail from webhook_attempts
      where webhook_id = ${webhookId} and ${ofScope(tx, 'tenant_id')}
        and entry_id = d.entry_id and event_at = d.event_at and error is not null
      order by number desc, started_at desc limit 1) a
    order by a.started_at desc limit 1`.execute(tx.db)
  return rows[0]
}
