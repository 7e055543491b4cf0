/** The fan-out's SQL: one statement for a batch of events, however many webhooks want them. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export interface Event {
  id: number
  tenant_id: number
  action: string
  created_at: string
}

/**
 * The events with the webhooks that want them. What happened before a webhook was registered is not
 * its business; a replay brings it.
 */
function wanted(events: readonly Event[]) {
  return sql`
    unnest(${events.map(({ id }) => id)}::bigint[], ${events.map(({ tenant_id }) => tenant_id)}::bigint[],
      ${events.map(({ action }) => action)}::text[], ${events.map(({ created_at }) => created_at)}::timestamptz[])
      as e(id, tenant_id, action, created_at)
    join webhooks w on w.tenant_id = e.tenant_id and w.created_at <= e.created_at
      and w.events && array[e.action, split_part(e.action, '.', 1) || '.*', '*']`
}

/**
 * Has the queues of the webhooks that want any of the events looked at from `iso` on. Returns the
 * webhooks. The queues stay locked until the end of the transaction, so that whoever lets go of one
 * meanwhile waits, and then sees the deliveries that are added.
 */
export async function scheduleQueues(
  tx: TenantTx,
  events: readonly Event[],
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
 * Makes the partitions of the days of the events that these webhooks want, where missing. Each day by
 * itself: those in between are nobody's, and two events may lie years apart where a clock was wrong.
 */
export function ensureDays(
  tx: TenantTx,
  events: readonly Event[],
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
 * Adds the deliveries to these webhooks; those that are there already stay as they are. One that a
 * replay has queued before stays also when that is cancelled. A webhook that
 * has come to want an event only now is left out: its queue is not locked, and might not be looked at.
 */
export function insertDeliveries(
  tx: TenantTx,
  events: readonly Event[],
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
