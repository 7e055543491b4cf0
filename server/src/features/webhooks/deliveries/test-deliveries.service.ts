/** Sends a test message to a webhook while the caller waits for the response. */
import { type Clock, isoAt, SECOND } from '../../../lib/clock.ts'
import { orNotFound, Problem } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Actor, actorOf, appendReturning, SYSTEM } from '../../../platform/journal/index.ts'
import { resetCircuit } from '../engine/queues.store.ts'
import { openTarget } from '../engine/targets.ts'
import { notifyDue } from '../engine/topics.ts'
import { type EventEntry, messageId } from '../events/message.ts'
import { TEST_EVENT } from '../events/subscription.ts'
import { findWebhook, shareWebhook } from '../registrations/registrations.store.ts'
import { livingSecrets } from '../registrations/secrets.store.ts'
import { DEADLINE_MS, type SendMessage, type Target } from '../sending/attempt.ts'
import type { TestResult } from '../webhooks.schema.ts'
import * as store from './deliveries.store.ts'

export interface TestDeliveriesDeps {
  db: Scopes
  clock: Clock
  keyRing: KeyRing
  send: SendMessage
  /** Queues a job that retries the webhook's pending deliveries. `webhook.at` is the current time (ISO 8601). */
  retryNow(tx: TenantTx, webhook: { id: number; tenant_id: number; at: string }): Promise<void>
}

/**
 * Sends `webhook.test` on behalf of the service. Returns whether the receiver accepted the message.
 * @throws Problem if the signal aborts, or the webhook no longer exists
 */
export type Probe = (
  webhook: { id: number; tenant_id: number },
  signal: AbortSignal,
) => Promise<boolean>

export interface TestDeliveries {
  /**
   * Sends `webhook.test` and returns the result. A failed delivery is returned as a result and not thrown.
   * @throws Problem 429 while three test deliveries of the tenant are running on this node
   */
  test(caller: Admin, webhookId: number): Promise<TestResult>
  readonly probe: Probe
  /** Aborts running test deliveries, and rejects new ones. */
  stop(): void
}

/** The tenant of the webhook, and the actor recorded in the journal. */
interface Sender {
  tenant_id: number
  actor: Actor
}

/** Limits test deliveries per tenant, because each one keeps a request open for up to the deadline. */
const MAX_AT_ONCE = 3

export function testDeliveriesService({
  db,
  clock,
  keyRing,
  send,
  retryNow,
}: TestDeliveriesDeps): TestDeliveries {
  const running = new Map<number, number>()
  const stopping = new AbortController()

  /** Appends the journal entry of the test message. The entry is committed before the message is sent. */
  function begin(
    { tenant_id: tenant, actor }: Sender,
    webhookId: number,
  ): Promise<{ target: Target; entry: EventEntry }> {
    return db.inTenant(tenant, async (tx) => {
      const { url, tenant_id } = orNotFound(await findWebhook(tx, webhookId), 'webhook')
      const secrets = await livingSecrets(tx, webhookId, isoAt(clock))
      const target = await openTarget(keyRing, tx, { url, tenant_id, secrets })
      if (!target) throw new Error(`the secrets of webhook ${webhookId} cannot be decrypted`)
      const about = {
        action: TEST_EVENT,
        tenant_id,
        resource_type: 'webhook',
        resource_id: String(webhookId),
      } as const
      const entered = await appendReturning(tx, actor, about)
      return { target, entry: { ...about, ...entered, user_id: actor.user_id, changes: null } }
    })
  }

  async function keep(
    tx: TenantTx,
    webhookId: number,
    { entry, target }: { entry: EventEntry; target: Target },
    attempt: store.DoneDelivery['attempt'],
  ) {
    // Stores nothing if the webhook was deleted before the receiver responded.
    const webhook = await shareWebhook(tx, webhookId)
    if (!webhook) return
    await store.insertDone(tx, {
      tenant_id: entry.tenant_id,
      webhook_id: webhookId,
      entry_id: entry.id,
      event_at: entry.created_at,
      event: TEST_EVENT,
      status: attempt.error === null ? 'delivered' : 'failed',
      finished_at: isoAt(clock),
      attempt,
    })
    // If the URL has changed since the message was sent, the response does not concern the current receiver.
    if (attempt.error !== null || webhook.url !== target.url) return
    const at = isoAt(clock)
    const held = await store.findHeldBack(tx, webhookId, at)
    if (!held?.is_failing && !held?.is_waiting) return
    if (held.is_failing) {
      await resetCircuit(tx, webhookId, at, 'same')
      tx.invalidate(`webhook:${webhookId}`)
      notifyDue(tx, [webhookId])
    }
    // Retries the pending deliveries now, because the receiver responds.
    await retryNow(tx, { id: webhookId, tenant_id: entry.tenant_id, at })
  }

  async function once(
    sender: Sender,
    webhookId: number,
    signal = stopping.signal,
  ): Promise<TestResult> {
    const message = await begin(sender, webhookId)
    const { target, entry } = message
    const { error, retry_after: _, ...sent } = await send(target, entry, signal)
    if (error === 'aborted') throw new Problem('stopping', { retryAfter: 1 })
    await db.inTenant(sender.tenant_id, (tx) => keep(tx, webhookId, message, { ...sent, error }))
    const { detail, status_code, duration_ms, response_body } = sent
    return {
      delivered: error === null,
      status_code,
      duration_ms,
      error,
      detail,
      response_body,
      message_id: messageId(entry),
    }
  }

  return {
    async test(caller, webhookId) {
      const { tenant_id } = caller
      const count = running.get(tenant_id) ?? 0
      if (count >= MAX_AT_ONCE)
        throw new Problem('too_many_requests', {
          detail: `Your tenant already has ${MAX_AT_ONCE} test deliveries running. Wait until one ends.`,
          retryAfter: DEADLINE_MS / SECOND,
        })
      running.set(tenant_id, count + 1)
      try {
        return await once({ tenant_id, actor: actorOf(caller) }, webhookId)
      } finally {
        const left = (running.get(tenant_id) ?? 1) - 1
        if (left === 0) running.delete(tenant_id)
        else running.set(tenant_id, left)
      }
    },
    async probe({ id, tenant_id }, signal) {
      const any = AbortSignal.any([stopping.signal, signal])
      return (await once({ tenant_id, actor: SYSTEM }, id, any)).delivered
    },
    stop: () => stopping.abort(),
  }
}
