import type { Generated } from 'kysely'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'
import type { Provider, UnusableReason } from './payment-facts.ts'
import type { PaymentStatus } from './states.ts'

export interface PaymentsTable {
  id: Generated<number>
  tenant_id: number
  provider: Provider
  provider_payment_id: string
  status: PaymentStatus
  amount: number
  amount_refunded: number
  currency: string
  currency_exponent: number
  test: Generated<boolean>
  /** The time of the provider's report that led to the current status, in milliseconds since the epoch. */
  said_at: number
  created_at: Generated<string>
  updated_at: Generated<string>
}

export const NOTIFICATION_STATES = [
  'received',
  'applied',
  'superseded',
  'ignored',
  'unverified',
  'failed',
] as const

export type NotificationState = (typeof NOTIFICATION_STATES)[number]

export interface PaymentNotificationsTable {
  id: Generated<number>
  tenant_id: number | null
  provider: Provider
  event_key: string
  type: string
  provider_payment_id: string | null
  payment_id: number | null
  state: NotificationState
  reason: UnusableReason | null
  holds_key: boolean
  attempts: Generated<number>
  tries: Generated<number>
  times_received: Generated<number>
  received_at: string
  armed_at: string
  waiting_since: string | null
  verified_at: string | null
  processed_at: string | null
  due_at: string | null
  leased_until: string | null
  seal_id: string
  sealed_body: Buffer
  sealed_signature: Buffer | null
}

export interface PaymentReconciliationsTable {
  provider: Provider
  reconciled_to: string | null
  due_at: string
  leased_until: string | null
  attempts: Generated<number>
  failures: Generated<number>
  is_refused: Generated<boolean>
}

export const PAYMENT_TABLES = {
  payments: 'kept',
  payment_notifications: 'kept',
  payment_reconciliations: 'kept',
} as const satisfies RestoreRules

/** The topic that notifies nodes of payment notifications that wait in the inbox. */
export const INBOX_TOPIC = 'payments'

declare module '../../platform/db/database.ts' {
  interface Database {
    payments: PaymentsTable
    payment_notifications: PaymentNotificationsTable
    payment_reconciliations: PaymentReconciliationsTable
  }
}

declare module '../../platform/db/topics.ts' {
  interface Topics {
    payments: typeof INBOX_TOPIC
  }
}
