/** Notifies processes that deliveries are due, or that a webhook has changed. */
import { parseTopic, type TenantTx } from '../../../platform/db/index.ts'

/** The maximum webhooks in a notification of at most 8,000 bytes. If more are due, engines check all queues. */
const MAX_NAMED = 50

/** Makes the engines fetch the webhooks' deliveries as soon as the transaction has committed. */
export function notifyDue(tx: TenantTx, webhookIds: readonly number[]): void {
  if (webhookIds.length > MAX_NAMED) tx.notify('due')
  else tx.notify(...webhookIds.map((id) => `due:${id}` as const))
}

/** Notifies the engines of a delivery that must be sent before the webhook's pending deliveries. */
export function notifyFirst(tx: TenantTx, webhookId: number): void {
  tx.notify(`first:${webhookId}`)
}

/** The webhooks that an engine has to check: one webhook, those of a tenant, or all webhooks (null). */
type Notice =
  | { what: 'due' | 'first' | 'changed'; webhookId: number | null }
  | { what: 'tenant'; tenantId: number }

/** Converts a topic to the notice for engines. Returns undefined if the topic does not concern webhooks. */
export function noticeOf(topic: string | null): Notice | undefined {
  // A null topic means that notifications may have been missed.
  if (topic === null) return { what: 'changed', webhookId: null }
  if (topic === 'due') return { what: 'due', webhookId: null }
  const { kind, number } = parseTopic(topic)
  if (number === undefined) return undefined
  if (kind === 'due' || kind === 'first') return { what: kind, webhookId: number }
  if (kind === 'tenant') return { what: 'tenant', tenantId: number }
  return kind === 'webhook' ? { what: 'changed', webhookId: number } : undefined
}
