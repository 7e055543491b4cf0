/** A payment as paygate's API has it, and what it comes to. */
import { currencyOf, minorUnits } from '../money.ts'
import type { Reading, Reason, SaidStatus } from '../payment-facts.ts'
import { isObject, type JsonObject, tenantIn } from '../provider-json.ts'

const STATUSES = {
  pending: 'pending',
  waiting_for_capture: 'authorized',
  canceled: 'canceled',
  succeeded: 'succeeded',
} as const satisfies Record<string, SaidStatus>

export type ApiStatus = keyof typeof STATUSES

/** In the order in which each outranks those before it. */
const ORDER: readonly unknown[] = Object.keys(STATUSES)

export const isApiStatus = (value: unknown): value is ApiStatus => ORDER.includes(value)

/** Whether what the API says is as much as what was claimed, or more. */
export const saysAtLeast = (said: unknown, claimed: ApiStatus): boolean =>
  ORDER.indexOf(said) >= ORDER.indexOf(claimed)

/** Names that may stand in a path as they are; no other is ever asked for. */
const ASKABLE = /^[A-Za-z0-9_-]{1,64}$/

export const isAskable = (id: unknown): id is string => typeof id === 'string' && ASKABLE.test(id)

/** What the API's payment says. @param saidAt when our question began, ms since the epoch */
export function readingOf(payment: JsonObject, saidAt: number): Reading {
  const { id, status, metadata } = payment
  if (!isAskable(id) || !isApiStatus(status)) return { is: 'failed', reason: 'unreadable' }
  const tenant_id = tenantIn(metadata)
  if (tenant_id === undefined) return { is: 'failed', reason: 'tenant_unreadable' }
  const failed = (reason: Reason): Reading => ({ is: 'failed', reason, tenant_id })
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

/** `{value, currency}` in minor units; undefined for what is no amount of this currency. */
export function sumIn(sum: unknown, currency: string): number | undefined {
  if (!isObject(sum) || currencyOf(sum.currency) !== currency) return undefined
  return minorUnits(sum.value, currency)
}
