/** Lists the deliveries of a webhook for administrators, and retries single deliveries. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Cursor } from '../../../lib/cursor.ts'
import { NONE_FOUND, type Page, toPage } from '../../../lib/page.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Span } from '../../../lib/span.ts'
import type { Admin } from '../../../platform/access/index.ts'
import { listMode, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { actorOf, append } from '../../../platform/journal/index.ts'
import { scheduleNow } from '../engine/queues.store.ts'
import { notifyFirst } from '../engine/topics.ts'
import { messageBody, messageId, parseMessageId } from '../events/message.ts'
import { findWebhook, shareWebhook } from '../registrations/registrations.store.ts'
import { fixedHeaders } from '../sending/attempt.ts'
import { storedClassOf } from '../sending/status-class.ts'
import {
  type Delivery,
  type DeliveryDetails,
  type DeliveryQuery,
  deliveryList,
  type Webhook,
} from '../webhooks.schema.ts'
import * as store from './deliveries.store.ts'

/** The period of a list, and where its page starts. */
export interface DeliveryRange {
  span: Span
  from: Cursor | undefined
}

export interface Deliveries {
  list(
    caller: Admin,
    webhookId: number,
    query: DeliveryQuery,
    refined: DeliveryRange,
  ): Promise<Page<Delivery>>
  /** Returns a delivery with its attempts and its request as it is sent. */
  find(caller: Admin, webhookId: number, id: number): Promise<DeliveryDetails>
  /**
   * Queues a delivery in any state, so that it is sent at once and before the webhook's pending deliveries. Its retry
   * schedule starts again.
   * @throws Problem 409 while the webhook is inactive
   */
  retry(caller: Admin, webhookId: number, id: number): Promise<Delivery>
}

export function deliveriesService({ db, clock }: { db: Scopes; clock: Clock }): Deliveries {
  return {
    list(caller, webhookId, query, { span, from }) {
      const asked = { list: deliveryList(webhookId), caller, query, from }
      return db.inTenant(
        caller.tenant_id,
        async (tx) => {
          const webhook = orNotFound(await findWebhook(tx, webhookId), 'webhook')
          const filter = filterOf(webhook, query, span)
          if (!filter) return toPage(asked, NONE_FOUND)
          const page = await store.listDeliveries(tx, webhookId, filter, asked)
          return toPage(asked, { ...page, items: await withAttempts(tx, webhook, page.items) })
        },
        listMode(query),
      )
    },

    find: (caller, webhookId, id) =>
      db.inTenant(
        caller.tenant_id,
        async (tx) => {
          const webhook = orNotFound(await findWebhook(tx, webhookId), 'webhook')
          const delivery = orNotFound(await store.findDelivery(tx, webhookId, id), 'delivery')
          const entry = await store.findEntry(tx, delivery)
          const [shown] = await withAttempts(tx, webhook, [delivery])
          return {
            ...(shown as Delivery),
            request_headers: fixedHeaders(messageId(delivery)),
            request_body: entry ? messageBody(entry) : null,
          }
        },
        'read',
      ),

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
  { status, message_id, event, status_class }: DeliveryQuery,
  { from, until }: Span,
): store.DeliveryFilter | undefined {
  if (status === (is_active ? 'held' : 'pending')) return undefined
  const kept = status === 'held' ? 'pending' : status
  // A delivered message is one to which the receiver responded with 2xx.
  if (status_class === '2xx' && kept !== undefined && kept !== 'delivered') return undefined
  const wanted = status_class === '2xx' ? 'delivered' : kept
  const failureClass = status_class && storedClassOf(status_class)
  const entry = message_id === undefined ? undefined : parseMessageId(message_id)
  if (message_id !== undefined && !entry) return undefined
  return {
    ...(wanted ? { status: wanted } : {}),
    ...(entry ? { entry } : {}),
    ...(event ? { event } : {}),
    ...(failureClass === undefined ? {} : { failureClass }),
    ...(from ? { from } : {}),
    ...(until ? { before: until } : {}),
  }
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
