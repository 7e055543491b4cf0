/** The common types of both providers: notices, payment facts, and the reasons why a notice is unusable. */

export const PROVIDERS = ['cardnet', 'paygate'] as const

export type Provider = (typeof PROVIDERS)[number]

/** A payment's status, apart from refunds. `pending`, `authorized` and `failed` may be followed by another status. */
export type SaidStatus = 'pending' | 'authorized' | 'failed' | 'canceled' | 'succeeded'

/** The facts about a payment that a notice can change. Other parts of the notice are ignored. */
export interface PaymentFacts {
  provider: Provider
  provider_payment_id: string
  /** The tenant id in the provider's metadata. The tenant may not exist. */
  tenant_id: number
  status: SaidStatus
  /** The amount in minor units of the currency (ISO 4217), 0…2^53-1. */
  amount: number
  /** The refunded total so far, in minor units. `all` if the provider reports a full refund without an amount. */
  amount_refunded: number | 'all'
  /** An ISO 4217 code in upper case, listed in `money.ts`. */
  currency: string
  /** True for a payment in the provider's test mode, in which no money is moved. */
  test: boolean
  /** The time of this report, in milliseconds since the epoch. Used to order reports of open statuses only. */
  said_at: number
}

/** The reasons why a notice was not applied, for operators. `docs/how-to/integrate/payments.md` lists them. */
export const UNUSABLE_REASONS = {
  not_configured:
    'the provider was not configured when the notification arrived, or is no longer configured',
  invalid_signature:
    'the signature does not match any secret configured when the notification arrived',
  does_not_open:
    'the stored notification cannot be decrypted, because its key is lost or the data was altered',
  unreadable: 'the payment in the notification is incomplete or malformed',
  tenant_unreadable: 'metadata.tenant_id is not a tenant id',
  unknown_tenant: 'the tenant does not exist or is deleted',
  other_tenant: 'the payment belongs to another tenant',
  currency_unknown: 'the currency is not an ISO 4217 code',
  other_currency: 'the stored payment has another currency',
  amount_unreadable:
    'an amount is not a plain number, is too large, or has more decimal places than its currency',
  refund_too_large: 'the refunds would exceed the payment',
  not_confirmed: "the provider's API does not confirm the notification",
  refund_not_counted: "the provider's API does not show the refund yet",
  provider_away: "the provider's API did not respond, or its response was invalid",
  provider_refused: "the provider's API rejected the credentials",
} as const

export type UnusableReason = keyof typeof UNUSABLE_REASONS

/** The fields of a notice that the inbox stores unencrypted, after its sender was checked. */
export interface Notice {
  provider: Provider
  /** Identifies the event. Repeats of an event have the same key. */
  event_key: string
  type: string
  provider_payment_id: string | null
}

/** The result of reading a stored notice. */
export type PaymentReading =
  /** The notice reports a payment. With `isGrowth`, the refunded total should increase. If not, the API may lag. */
  | { is: 'payment'; facts: PaymentFacts; isGrowth?: boolean }
  /** The notice does not concern a payment. */
  | { is: 'ignored' }
  /** The notice can never be applied. `tenant_id` is set if it could be read. */
  | { is: 'failed'; reason: UnusableReason; tenant_id?: number }
  /**
   * The notice is retried for a day. With `forGood` it is retried without a limit, because the cause is not the notice
   * itself.
   */
  | { is: 'later'; reason: UnusableReason; forGood: boolean }
