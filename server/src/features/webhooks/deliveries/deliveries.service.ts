/** Lists the deliveries of a webhook for administrators, and retries single deliveries. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Cursor } from '../../../lib/cursor.ts'
import { NONE_FOUND, type Page, toPage } from '../../../lib/page.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import { listMode, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { actorOf, append } from '../../../platform/journal/index.ts'
import { scheduleNow } from '../engine/queues.store.ts'
import { notifyFirst } from '../engine/topics.ts'
import { messageId, parseMessageId } from '../events/message.ts'
import { findWebhook, shareWebhook } from '../registrations/registrations.store.ts'
import {
  type Delivery,
  type DeliveryQuery,
  deliveryList,
  type Webhook,
} from '../webhooks.schema.ts'
import * as store from './deliveries.store.ts'

export interface Deliveries {
  list(
    caller: Admin,
    webhookId: number,
    query: DeliveryQuery,
    from: Cursor | undefined,
  ): Promise<Page<Delivery>>
  /**
   * Queues a delivery in any state, so that it is sent at once and before the webhook's pending deliveries. Its retry
   * schedule starts again.
   * @throws Problem 409 while the webhook is inactive
   */
  retry(caller: Admin, webhookId: number, id: number): Promise<Delivery>
}

export function deliveriesService({ db, clock }: { db: Scopes; clock: Clock }): Deliveries {
  return {
    list(caller, webhookId, query, from) {
      const asked = { list: deliveryList(webhookId), caller, query, from }
      return db.inTenant(
        caller.tenant_id,
        async (tx) => {
          const webhook = orNotFound(await findWebhook(tx, webhookId), 'webhook')
          const filter = filterOf(webhook, query)
          if (!filter) return toPage(asked, NONE_FOUND)
          const page = await store.listDeliveries(tx, webhookId, filter, asked)
          return toPage(asked, { ...page, items: await withAttempts(tx, webhook, page.items) })
        },
        listMode(query),
      )
    },

    retry: (caller, webhookId, id) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const webhook = orNotFound(await shareWebhook(tx, webhookId), 'webhook')
        const now = isoAt(clock)
        // Locks the queue before the delivery. All code that locks both must use this order, to avoid deadlocks.
        await scheduleNow(tx, webhookId, now)
        const delivery = orNotFound(await store.lockDelivery(tx, webhookId, id), 'delivery')
        if (!webhook.is_active) throw new Problem('webhook_inactive')
        const queued = orNotFound(await store.queueAgain(tx, delivery, now), 'delivery')
        notifyFirst(tx, webhookId)
        await append(tx, actorOf(caller), {
          action: 'webhook.delivery_retried',
          tenant_id: webhook.tenant_id,
          resource_type: 'webhook',
          resource_id: webhookId,
          changes: { delivery_id: id, event: delivery.event, status: delivery.status },
        })
        const [shown] = await withAttempts(tx, webhook, [{ ...delivery, ...queued }])
        return shown as Delivery
      }),
  }
}

/** Returns the database filter for a query, or undefined if no stored delivery can match the query. */
function filterOf(
  { is_active }: Webhook,
  { status, message_id }: DeliveryQuery,
): store.DeliveryFilter | undefined {
  if (status === (is_active ? 'held' : 'pending')) return undefined
  const kept = status === 'held' ? 'pending' : status
  const entry = message_id === undefined ? undefined : parseMessageId(message_id)
  if (message_id !== undefined && !entry) return undefined
  return { ...(kept ? { status: kept } : {}), ...(entry ? { entry } : {}) }
}

async function withAttempts(
  tx: TenantTx,
  { id, is_active }: Webhook,
  deliveries: readonly store.KeptDelivery[],
): Promise<Delivery[]> {
  const attempts = Map.groupBy(
    await store.listAttempts(tx, id, deliveries),
    ({ delivery_id }) => delivery_id,
  )
  return deliveries.map(({ due_at, ...delivery }) => ({
    ...delivery,
    message_id: messageId(delivery),
    status: delivery.status === 'pending' && !is_active ? 'held' : delivery.status,
    attempts: (attempts.get(delivery.id) ?? []).map(({ delivery_id: _, ...attempt }) => attempt),
    next_attempt_at: is_active ? due_at : null,
  }))
}
