/** Converts a payment returned by paygate's API to payment facts. */
import { currencyOf, minorUnits } from '../money.ts'
import type { PaymentReading, SaidStatus, UnusableReason } from '../payment-facts.ts'
import { isObject, type JsonObject, tenantIn } from '../provider-json.ts'

const STATUSES = {
  pending: 'pending',
  waiting_for_capture: 'authorized',
  canceled: 'canceled',
  succeeded: 'succeeded',
} as const satisfies Record<string, SaidStatus>

export type ApiStatus = keyof typeof STATUSES

/** The statuses in ascending order of rank. */
const ORDER: readonly unknown[] = Object.keys(STATUSES)

export const isApiStatus = (value: unknown): value is ApiStatus => ORDER.includes(value)

/** Returns whether the API's status equals or outranks the claimed status. */
export const saysAtLeast = (said: unknown, claimed: ApiStatus): boolean =>
  ORDER.indexOf(said) >= ORDER.indexOf(claimed)

/** Matches ids that are safe in a path without encoding. The service never requests any other id. */
const ASKABLE = /^[A-Za-z0-9_-]{1,64}$/

export const isAskable = (id: unknown): id is string => typeof id === 'string' && ASKABLE.test(id)

/** Converts a payment from the API. @param saidAt when our request started, in milliseconds since the epoch */
export function paygateReadingOf(payment: JsonObject, saidAt: number): PaymentReading {
  const { id, status, metadata } = payment
  if (!isAskable(id) || !isApiStatus(status)) return { is: 'failed', reason: 'unreadable' }
  const tenant_id = tenantIn(metadata)
  if (tenant_id === undefined) return { is: 'failed', reason: 'tenant_unreadable' }
  const failed = (reason: UnusableReason): PaymentReading => ({ is: 'failed', reason, tenant_id })
  const currency = isObject(payment.amount) ? currencyOf(payment.amount.currency) : undefined
  if (currency === undefined) return failed('currency_unknown')
  const amount = sumIn(payment.amount, currency)
  const amount_refunded = sumIn(payment.refunded_amount ?? { value: '0', currency }, currency)
  if (amount === undefined || amount_refunded === undefined) return failed('amount_unreadable')
  return {
    is: 'payment',
    facts: {
      provider: 'paygate',
      provider_payment_id: id,
      tenant_id,
      status: STATUSES[status],
      amount,
      amount_refunded,
      currency,
      test: payment.test === true,
      said_at: saidAt,
    },
  }
}

/** Converts `{value, currency}` to minor units. Returns undefined if it is not a valid amount in this currency. */
export function sumIn(sum: unknown, currency: string): number | undefined {
  if (!isObject(sum) || currencyOf(sum.currency) !== currency) return undefined
  return minorUnits(sum.value, currency)
}
