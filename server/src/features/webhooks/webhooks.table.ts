import type { Generated, JSONColumnType } from 'kysely'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'
import type { Actor } from '../../platform/journal/index.ts'
import type { ShownAttempt } from './webhooks.schema.ts'

export interface WebhooksTable {
  id: Generated<number>
  tenant_id: number
  url: string
  events: string[]
  is_active: Generated<boolean>
  disabled_reason: 'admin' | 'failing' | 'gone' | null
  created_at: Generated<string>
}

export interface WebhookSecretsTable {
  id: string
  tenant_id: number
  webhook_id: number
  sealed_secret: Buffer
  /** Null for the current secret. */
  expires_at: string | null
  created_at: Generated<string>
}

export interface WebhookQueuesTable {
  webhook_id: number
  tenant_id: number
  due_at: string | null
  leased_by: string | null
  leased_until: string | null
  epoch: Generated<number>
  failures: Generated<number>
  failure_share: Generated<number>
  failing_since: string | null
  failed_at: string | null
  slots: Generated<number>
  paused_until: string | null
  resets: Generated<number>
  /** The latest probe. `answered_at` is the time of the first probe to which the receiver responded again. */
  probed_at: string | null
  answered_at: string | null
}

export interface WebhookDeliveriesTable {
  tenant_id: number
  webhook_id: number
  entry_id: number
  event_at: string
  event: string
  status: Generated<'pending' | 'delivered' | 'failed'>
  attempts: Generated<number>
  retry_step: Generated<number>
  due_at: string | null
  finished_at: string | null
  replay_id: number | null
  /** The class of the last response: 3 for 3xx, and 0 without a response. Null after a success. */
  status_class: number | null
}

export interface WebhookAttemptsTable {
  tenant_id: number
  webhook_id: number
  entry_id: number
  event_at: string
  number: number
  started_at: string
  duration_ms: number
  status_code: number | null
  error: ShownAttempt['error']
  detail: string | null
  address: string | null
  response_body: string | null
}

export interface WebhookReplaysTable {
  id: Generated<number>
  tenant_id: number
  webhook_id: number
  since: string
  until: string
  state: Generated<'running' | 'completed' | 'cancelled' | 'failed'>
  found: Generated<number>
  event_at: string
  entry_id: Generated<number>
  created_at: Generated<string>
  finished_at: string | null
  actor: JSONColumnType<Actor> | null
  only_failed: Generated<boolean>
}

export const WEBHOOK_TABLES = {
  webhooks: 'restored',
  webhook_secrets: 'merged',
  webhook_queues: 'rebuilt',
  webhook_deliveries: 'kept',
  webhook_attempts: 'kept',
  webhook_replays: 'ended',
} as const satisfies RestoreRules

declare module '../../platform/db/database.ts' {
  interface Database {
    webhooks: WebhooksTable
    webhook_secrets: WebhookSecretsTable
    webhook_queues: WebhookQueuesTable
    webhook_deliveries: WebhookDeliveriesTable
    webhook_attempts: WebhookAttemptsTable
    webhook_replays: WebhookReplaysTable
  }
}

declare module '../../platform/db/topics.ts' {
  interface Topics {
    webhook: `webhook:${number}`
    /** Notifies engines that deliveries are due, for one webhook or for many. */
    due: 'due' | `due:${number}`
    /** Notifies engines of a delivery that must be sent before the webhook's pending deliveries. */
    first: `first:${number}`
  }
}
