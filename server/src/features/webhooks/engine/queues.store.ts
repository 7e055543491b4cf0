/** SQL with which requests and jobs schedule and reset webhook queues. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export async function insertQueue(
  tx: TenantTx,
  queue: { tenant_id: number; webhook_id: number },
): Promise<void> {
  await tx.db.insertInto('webhook_queues').values(queue).execute()
}

/** Limits how long a stalled transaction can lock a queue's row, because the fan-out for all tenants waits for it. */
function limitIdleTime(tx: TenantTx): void {
  tx.send(sql`set local idle_in_transaction_session_timeout = '5s'`.compile(tx.db))
}

/** Schedules the webhook's queue for `iso`, unless the queue is due earlier. */
export async function scheduleQueue(tx: TenantTx, webhookId: number, iso: string): Promise<void> {
  limitIdleTime(tx)
  await tx.db
    .updateTable('webhook_queues')
    .set({ due_at: sql`least(due_at, ${iso}::timestamptz)` })
    .where('webhook_id', '=', webhookId)
    .execute()
}

/**
 * Schedules the webhook's queue like `scheduleQueue`, and ends its pause, so that an attempt can start immediately. For
 * a failing receiver, also ends the lease, because its process may know of a pause that is not saved yet. For a healthy
 * receiver, the process with the lease sends immediately.
 */
export async function scheduleNow(tx: TenantTx, webhookId: number, iso: string): Promise<void> {
  limitIdleTime(tx)
  const queue = await tx.db
    .selectFrom('webhook_queues')
    .select(['failing_since', 'paused_until'])
    .where('webhook_id', '=', webhookId)
    .forUpdate()
    .executeTakeFirst()
  await tx.db
    .updateTable('webhook_queues')
    .set({ due_at: sql`least(due_at, ${iso}::timestamptz)`, paused_until: null })
    .where('webhook_id', '=', webhookId)
    .execute()
  if (!queue?.failing_since && !queue?.paused_until) return
  await endLease(tx, webhookId)
  tx.invalidate(`webhook:${webhookId}`)
}

/**
 * Makes the process that has leased the queue release it, because the process uses an outdated state of the webhook.
 * The process receives a notification, or reads the changed row at its next heartbeat. The lease stays valid until
 * then, so that no other process resends the messages in flight.
 */
export async function endLease(tx: TenantTx, webhookId: number): Promise<void> {
  limitIdleTime(tx)
  await tx.db
    .updateTable('webhook_queues')
    .set({ leased_by: null })
    .where('webhook_id', '=', webhookId)
    .where('leased_by', 'is not', null)
    .execute()
}

/**
 * Resets the circuit to the state of a new receiver, and schedules the queue for `iso`. The new epoch prevents the
 * process with the lease from saving its outdated state. If a message in flight fails, it becomes due at once, like all
 * pending deliveries.
 * @param receiver `new` also ends the lease, so that messages are sent to the new receiver at once. `same` keeps the
 * lease until it is released or expires, so that no other process resends the messages in flight.
 */
export async function resetCircuit(
  tx: TenantTx,
  webhookId: number,
  iso: string,
  receiver: 'new' | 'same' = 'new',
): Promise<void> {
  limitIdleTime(tx)
  await tx.db
    .updateTable('webhook_queues')
    .set((eb) => ({
      due_at: iso,
      leased_by: null,
      ...(receiver === 'new' ? { leased_until: null } : {}),
      epoch: eb('epoch', '+', 1),
      resets: eb('resets', '+', 1),
      failures: 0,
      failure_share: 0,
      failing_since: null,
      failed_at: null,
      slots: 4,
      paused_until: null,
      probed_at: null,
      answered_at: null,
    }))
    .where('webhook_id', '=', webhookId)
    .execute()
}
