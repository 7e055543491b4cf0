/** How processes tell each other that deliveries are due, or that a webhook has changed. */
import { parseTopic, type TenantTx } from '../../../platform/db/index.ts'

/** A notification holds 8,000 bytes; with more webhooks than this, everybody looks. */
const MAX_NAMED = 50

/** Has the engines look at the webhooks' deliveries as soon as the transaction has committed. */
export function notifyDue(tx: TenantTx, webhookIds: readonly number[]): void {
  if (webhookIds.length > MAX_NAMED) tx.notify('due')
  else tx.notify(...webhookIds.map((id) => `due:${id}` as const))
}

/** As `notifyDue`, for a delivery that comes before all that wait. */
export function notifyFirst(tx: TenantTx, webhookId: number): void {
  tx.notify(`first:${webhookId}`)
}

/** What an engine has to look at: one webhook, a tenant's, or all of them (null). */
type Notice =
  | { what: 'due' | 'first' | 'changed'; webhookId: number | null }
  | { what: 'tenant'; tenantId: number }

/** What a topic means for an engine; undefined when it is no business of webhooks. */
export function noticeOf(topic: string | null): Notice | undefined {
  // Something may have been missed.
  if (topic === null) return { what: 'changed', webhookId: null }
  if (topic === 'due') return { what: 'due', webhookId: null }
  const { kind, number } = parseTopic(topic)
  if (number === undefined) return undefined
  if (kind === 'due' || kind === 'first') return { what: kind, webhookId: number }
  if (kind === 'tenant') return { what: 'tenant', tenantId: number }
  return kind === 'webhook' ? { what: 'changed', webhookId: number } : undefined
}
