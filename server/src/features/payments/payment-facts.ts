/** What the providers say, in one form for both: of a notice, of a payment, and why something can't be used. */

export const PROVIDERS = ['cardnet', 'paygate'] as const

export type Provider = (typeof PROVIDERS)[number]

/** What a payment has come to, refunds apart. The first three are open: another may follow. */
export type SaidStatus = 'pending' | 'authorized' | 'failed' | 'canceled' | 'succeeded'

/** All that a notice can change of a payment. Whatever else a body holds goes no further. */
export interface PaymentFacts {
  provider: Provider
  provider_payment_id: string
  /** As the provider's metadata has it; whether there is such a tenant is not known here. */
  tenant_id: number
  status: SaidStatus
  /** In minor units of the currency (ISO 4217), 0…2^53-1. */
  amount: number
  /** In all so far, in minor units; `all` where the provider says so without a number. */
  amount_refunded: number | 'all'
  /** ISO 4217, upper case; one that `money.ts` knows. */
  currency: string
  /** True for a payment of the provider's test mode: no money has moved. */
  test: boolean
  /** Milliseconds since the epoch: since when this is so. It decides between open states alone. */
  said_at: number
}

/** Why a notice was not applied, with what it means for an operator; `docs/payments.md` lists them. */
export const REASONS = {
  not_configured: 'the provider was not configured when it came, or is not any more',
  invalid_signature: 'no configured secret has made its signature, by the time it came',
  does_not_open: 'what was sent does not open: the key that sealed it is lost, or it was changed',
  unreadable: 'the payment in it is incomplete or malformed',
  tenant_unreadable: 'its metadata.tenant_id is no tenant number',
  unknown_tenant: 'there is no such tenant, or it is deleted',
  other_tenant: 'the payment belongs to another tenant',
  currency_unknown: 'the currency is none of ISO 4217',
  other_currency: 'the payment is in another currency',
  amount_unreadable: 'an amount cannot be held exactly in the currency',
  refund_too_large: 'more would be refunded than was paid',
  not_confirmed: "the provider's API does not say so",
  refund_not_counted: 'its payment says no more than before, and may lag',
  provider_away: "the provider's API did not answer, or not as it should",
  provider_refused: "the provider's API refused the credentials",
} as const

export type Reason = keyof typeof REASONS

/** What the inbox keeps of a notice in the clear, once its sender is judged. */
export interface Notice {
  provider: Provider
  /** Names the event: the same for every repeat of it. */
  event_key: string
  type: string
  provider_payment_id: string | null
}

/** What a stored notice turns out to say. */
export type Reading =
  /** With `isGrowth` it should move the payment: where it does not, the provider may lag. */
  | { is: 'payment'; facts: PaymentFacts; isGrowth?: boolean }
  /** About something that is no payment of ours. */
  | { is: 'ignored' }
  /** It will never say more by itself; the tenant where that could be read. */
  | { is: 'failed'; reason: Reason; tenant_id?: number }
  /** To be asked again: for a day, or for good where it is not the notice's fault. */
  | { is: 'later'; reason: Reason; forGood: boolean }
