/** SQL that creates deliveries. Each statement handles a batch of events for any number of webhooks. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export interface FanOutEvent {
  id: number
  tenant_id: number
  action: string
  created_at: string
}

/** Returns SQL that joins events with subscribed webhooks. Only a replay may send events older than the webhook. */
function wanted(events: readonly FanOutEvent[]) {
  return sql`
    unnest(${events.map(({ id }) => id)}::bigint[], ${events.map(({ tenant_id }) => tenant_id)}::bigint[],
      ${events.map(({ action }) => action)}::text[], ${events.map(({ created_at }) => created_at)}::timestamptz[])
      as e(id, tenant_id, action, created_at)
    join webhooks w on w.tenant_id = e.tenant_id and w.created_at <= e.created_at
      and w.events && array[e.action, split_part(e.action, '.', 1) || '.*', '*']`
}

/**
 * Makes the queues of all webhooks that subscribe to any of the events due at `iso` at the latest. Returns the ids of
 * the webhooks. The queues stay locked until the transaction ends. No process can release a queue before that, so none
 * misses the added deliveries.
 */
export async function scheduleQueues(
  tx: TenantTx,
  events: readonly FanOutEvent[],
  iso: string,
): Promise<number[]> {
  tx.send(sql`set local lock_timeout = '2s'`.compile(tx.db))
  const { rows } = await sql<{ webhook_id: number }>`
    with locked as materialized (
      select webhook_id, due_at from webhook_queues
      where webhook_id in (select w.id from ${wanted(events)})
      order by webhook_id for no key update
    ), changed as (
      update webhook_queues q set due_at = ${iso}::timestamptz from locked
      where q.webhook_id = locked.webhook_id
        and (locked.due_at is null or locked.due_at > ${iso}::timestamptz)
    )
    select webhook_id from locked`.execute(tx.db)
  return rows.map(({ webhook_id }) => webhook_id)
}

/**
 * Creates missing partitions for the days of the events to which these webhooks subscribe. Creates none for other days,
 * because a wrong clock may date two events years apart.
 */
export function sendEnsureDays(
  tx: TenantTx,
  events: readonly FanOutEvent[],
  webhookIds: readonly number[],
): void {
  tx.send(
    sql`select ensure_webhook_partitions(day, day) from (
        select distinct (e.created_at at time zone 'UTC')::date as day
        from ${wanted(events)} and w.id = any(${webhookIds}::bigint[])
        order by day) days`.compile(tx.db),
  )
}

/**
 * Inserts the deliveries of the events to these webhooks. Existing deliveries stay unchanged, but a pending delivery of
 * a replay is detached from the replay. Cancelling the replay then does not delete the delivery. Omits webhooks that
 * have only just subscribed to an event, because their queues are not locked and might not be scheduled.
 */
export function insertDeliveries(
  tx: TenantTx,
  events: readonly FanOutEvent[],
  webhookIds: readonly number[],
  iso: string,
): void {
  tx.send(
    sql`insert into webhook_deliveries as d (tenant_id, webhook_id, entry_id, event_at, event, due_at)
      select w.tenant_id, w.id, e.id, e.created_at, e.action, ${iso}::timestamptz
      from ${wanted(events)} and w.id = any(${webhookIds}::bigint[])
      on conflict (webhook_id, entry_id, event_at) do update set replay_id = null
        where d.replay_id is not null and d.status = 'pending'`.compile(tx.db),
  )
}
