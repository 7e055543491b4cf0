/** SQL with which the engine finds due deliveries and records their attempts. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { deliveryCounts } from '../../stats/index.ts'
import type { EventEntry } from '../events/message.ts'
import type { Attempt } from '../sending/attempt.ts'
import { failureClassOf } from '../sending/status-class.ts'
import '../webhooks.table.ts'

/** A due delivery with the journal entry from which its message is built. */
export interface DueDelivery extends Omit<EventEntry, 'action' | 'resource_type'> {
  webhook_id: number
  event: string
  attempts: number
  retry_step: number
  due_at: string
  /** Null if the event's entry is no longer in the journal. */
  resource_type: string | null
}

/** Returns the earliest due deliveries of each webhook, up to the webhook's limit. */
export async function findDue(
  tx: TenantTx,
  wants: readonly { id: number; limit: number }[],
  now: string,
): Promise<DueDelivery[]> {
  const { rows } = await sql<DueDelivery>`
    select d.webhook_id, d.tenant_id, d.entry_id as id, d.event_at as created_at, d.event,
      d.attempts, d.retry_step, d.due_at, j.resource_type, j.resource_id, j.user_id, j.changes
    from unnest(${wants.map(({ id }) => id)}::bigint[], ${wants.map(({ limit }) => limit)}::integer[])
      as want(webhook_id, most)
    cross join lateral (
      select due.webhook_id, due.tenant_id, due.entry_id, due.event_at, due.event, due.attempts,
        due.retry_step, due.due_at
      from webhook_deliveries due
      where due.webhook_id = want.webhook_id and due.status = 'pending'
        and due.due_at <= ${now}::timestamptz
      order by due.due_at limit want.most
    ) d
    left join journal j on j.id = d.entry_id and j.created_at = d.event_at
    order by d.due_at, d.entry_id`.execute(tx.db)
  return rows
}

/** A completed attempt, and the resulting state of its delivery. */
export interface DeliveryOutcome {
  delivery: DueDelivery
  attempt: Attempt
  status: 'pending' | 'delivered' | 'failed'
  /** When the delivery is retried (ISO 8601). Null if the delivery has succeeded or has finally failed. */
  due_at: string | null
}

/** The outcome of an attempt, as passed to `recordResults`. */
export interface DeliveryResult extends DeliveryOutcome {
  /** The queue's reset counter at the claim. If it has changed since, a failure concerns an earlier receiver. */
  resets: number
}

/**
 * Records attempts, updates their deliveries, and counts their ends. Does not update a delivery whose number of attempts
 * has changed, because another process has made an attempt in the meantime. Does not store an attempt whose webhook or
 * delivery was deleted, because the attempt would appear in a later delivery of the same event.
 *
 * A delivery that was queued again during the attempt has a different due time, and keeps its full retry schedule. A
 * delivery that a cancelled replay has ended during the attempt stays ended. A success always counts.
 *
 * If the queue was reset during a failed attempt, the delivery becomes due now with its full retry schedule. Deliveries
 * that waited at the reset are treated the same way. The row's counter decides, because a process may miss the
 * notification of a reset.
 */
export function recordResults(tx: TenantTx, results: readonly DeliveryResult[], now: string): void {
  tx.send(sql`select pg_advisory_xact_lock_shared(${RECORDING})`.compile(tx.db))
  moveDeliveries(tx, results, now)
  keepAttempts(tx, results)
}

const RECORDING = sql`hashtextextended('webhook results', 0)`

/** Waits for transactions that are recording results and may not see a reset of a queue that was just committed. */
export async function awaitResults(tx: TenantTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${RECORDING})`.execute(tx.db)
}

/** Returns the primary keys of the deliveries as SQL arrays. */
const keysOf = (results: readonly DeliveryResult[]) =>
  sql`${results.map(({ delivery }) => delivery.webhook_id)}::bigint[],
    ${results.map(({ delivery }) => delivery.id)}::bigint[],
    ${results.map(({ delivery }) => delivery.created_at)}::timestamptz[]`

function moveDeliveries(tx: TenantTx, results: readonly DeliveryResult[], now: string): void {
  const of = <T>(value: (result: DeliveryResult) => T) => results.map(value)
  const moves = sql`o.status = 'delivered'
    or d.retry_step = o.retry_step and d.due_at is not distinct from o.was_due`
  tx.send(
    sql`with tried as materialized (
        select o.webhook_id, o.entry_id, o.event_at, o.attempts, o.retry_step, o.was_due, o.status,
          o.due_at, o.duration_ms, o.status_class,
          o.status <> 'delivered' and exists (select from webhook_queues q
            where q.webhook_id = o.webhook_id and q.resets <> o.resets) as is_late
        from unnest(${keysOf(results)}, ${of((o) => o.delivery.attempts)}::integer[],
            ${of((o) => o.delivery.retry_step)}::integer[],
            ${of((o) => o.delivery.due_at)}::timestamptz[], ${of((o) => o.resets)}::bigint[],
            ${of((o) => o.status)}::text[], ${of((o) => o.due_at)}::timestamptz[],
            ${of((o) => o.attempt.duration_ms)}::integer[],
            ${of((o) => failureClassOf(o.attempt))}::smallint[])
          as o(webhook_id, entry_id, event_at, attempts, retry_step, was_due, resets, status, due_at,
            duration_ms, status_class)
      ), o as materialized (
        select webhook_id, entry_id, event_at, attempts, retry_step, was_due, is_late, duration_ms,
          status_class,
          case when is_late then 'pending' else status end as status,
          case when is_late then ${now}::timestamptz else due_at end as due_at
        from tried
      ), moved as (
      update webhook_deliveries d set attempts = d.attempts + 1,
        retry_step = case when not (${moves}) then d.retry_step
          when o.is_late then 0 else d.retry_step + 1 end,
        status = case when ${moves} then o.status else d.status end,
        due_at = case when ${moves} then o.due_at else d.due_at end,
        status_class = case when d.status <> 'delivered' then o.status_class end,
        finished_at = case when (${moves}) and o.status <> 'pending' then ${now}::timestamptz
          else d.finished_at end
      from o
      where d.webhook_id = o.webhook_id and d.entry_id = o.entry_id and d.event_at = o.event_at
        and d.attempts = o.attempts
      returning d.tenant_id, o.duration_ms,
        case when d.status = 'pending' then 'retried'
          when d.finished_at = ${now}::timestamptz then d.status end as result)
      ${deliveryCounts(sql`moved`, now)}`.compile(tx.db),
  )
}

/**
 * Stores attempts. `offset 0` makes the planner look up each delivery by its key. Otherwise, with statistics from
 * before a backlog, the planner would scan the whole backlog for the join.
 */
function keepAttempts(tx: TenantTx, results: readonly DeliveryResult[]): void {
  const of = <T>(value: (result: DeliveryResult) => T) => results.map(value)
  tx.send(
    sql`insert into webhook_attempts (webhook_id, entry_id, event_at, tenant_id, number, started_at,
        duration_ms, status_code, error, detail, address, response_body)
      select tried.* from unnest(${keysOf(results)}, ${of((o) => o.delivery.tenant_id)}::bigint[],
        ${of((o) => o.delivery.attempts + 1)}::integer[],
        ${of((o) => o.attempt.started_at)}::timestamptz[],
        ${of((o) => o.attempt.duration_ms)}::integer[],
        ${of((o) => o.attempt.status_code)}::integer[], ${of((o) => o.attempt.error)}::text[],
        ${of((o) => o.attempt.detail)}::text[], ${of((o) => o.attempt.address)}::text[],
        ${of((o) => o.attempt.response_body)}::text[]) as tried(webhook_id, entry_id, event_at)
      where exists (select from webhooks w join webhook_deliveries d on d.webhook_id = w.id
        where w.id = tried.webhook_id and d.entry_id = tried.entry_id
          and d.event_at = tried.event_at offset 0)
      on conflict do nothing`.compile(tx.db),
  )
}

/** Marks deliveries as failed if their event is no longer in the journal, because their message cannot be built. */
export function giveUpDeliveries(tx: TenantTx, lost: readonly DueDelivery[], now: string): void {
  tx.send(
    sql`with ended as (
      update webhook_deliveries d
      set status = 'failed', due_at = null, finished_at = ${now}::timestamptz
      from unnest(${lost.map((o) => o.webhook_id)}::bigint[], ${lost.map((o) => o.id)}::bigint[],
          ${lost.map((o) => o.created_at)}::timestamptz[]) as o(webhook_id, entry_id, event_at)
      where d.webhook_id = o.webhook_id and d.entry_id = o.entry_id and d.event_at = o.event_at
        and d.due_at is not null
      returning d.tenant_id, 'failed' as result, null::integer as duration_ms)
      ${deliveryCounts(sql`ended`, now)}`.compile(tx.db),
  )
}
