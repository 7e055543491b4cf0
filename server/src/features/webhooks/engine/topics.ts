/** How processes tell each other that deliveries are due, or that a webhook has changed. */
import type { TenantTx } from '../../../platform/db/index.ts'

/** A notification holds 8,000 bytes; with more webhooks than this, everybody looks. */
const MOST_NAMED = 50
const DUE = /^due:(\d+)$/
const CHANGED = /^webhook:(\d+)$/
const TENANT = /^tenant:(\d+)$/

/** Has the engines look at the webhooks' deliveries as soon as the transaction has committed. */
export function announceDue(tx: TenantTx, webhookIds: readonly number[]): void {
  if (webhookIds.length > MOST_NAMED) tx.announce('due')
  else tx.announce(...webhookIds.map((id) => `due:${id}`))
}

/** What an engine hears: of one webhook, of a tenant's, or of all (null). */
type Heard =
  | { what: 'due' | 'changed'; webhookId: number | null }
  | { what: 'tenant'; tenantId: number }

/** What a topic says to an engine; undefined when it is no business of webhooks. */
export function readTopic(topic: string | null): Heard | undefined {
  // Something may have been missed.
  if (topic === null) return { what: 'changed', webhookId: null }
  if (topic === 'due') return { what: 'due', webhookId: null }
  const due = DUE.exec(topic)?.[1]
  if (due) return { what: 'due', webhookId: Number(due) }
  const tenant = TENANT.exec(topic)?.[1]
  if (tenant) return { what: 'tenant', tenantId: Number(tenant) }
  const changed = CHANGED.exec(topic)?.[1]
  return changed ? { what: 'changed', webhookId: Number(changed) } : undefined
}
