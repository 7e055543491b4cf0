/** The queues' SQL for what is done to them from outside the engine. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

/** Makes the queue of a new webhook. */
export async function insertQueue(
  tx: TenantTx,
  queue: { tenant_id: number; webhook_id: number },
): Promise<void> {
  await tx.db.insertInto('webhook_queues').values(queue).execute()
}

/**
 * A queue's row is waited for by the fan-out of everybody's events: a process that stalls in the
 * middle of a transaction must not keep it.
 */
function limitIdleTime(tx: TenantTx): void {
  tx.send(sql`set local idle_in_transaction_session_timeout = '5s'`.compile(tx.db))
}

/** Schedules the webhook's queue for `iso` at the latest. */
export async function scheduleQueue(tx: TenantTx, webhookId: number, iso: string): Promise<void> {
  limitIdleTime(tx)
  await tx.db
    .updateTable('webhook_queues')
    .set({ due_at: sql`least(due_at, ${iso}::timestamptz)` })
    .where('webhook_id', '=', webhookId)
    .execute()
}

/**
 * As `scheduleQueue`, and without waiting for the end of a pause: somebody wants to see a try now. The
 * process that has leased the queue of a failing receiver may know of a pause that is not written here
 * yet: it lets go of the queue without it. A receiver that does well is sent to by that process at once.
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
 * Has the process that has leased the queue let go of it, as it sends by what is changed. It hears so by
 * a topic, and sees so here at its next heartbeat. The lease itself stays: nobody else sends meanwhile
 * what is under way.
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
 * Closes the circuit as for a new receiver, and schedules the queue. The process that has leased it
 * learns that by the new epoch: what it still knows is not written back. What it has under way and
 * fails is due at once, as is all that waits.
 *
 * @param receiver a new one is sent to at once; with the same one the lease stays until its process
 *   lets go or it runs out, so that another process does not send what is under way as well
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
