/**
 * Computes the state of a payment from the reports of a provider, which may arrive in any order and repeatedly. A
 * payment never returns to an earlier state, so the final state does not depend on the order (diagram in
 * docs/how-to/integrate/payments.md).
 */
import type { PublicAction } from '../../platform/journal/index.ts'
import type { PaymentFacts, UnusableReason } from './payment-facts.ts'

export const PAYMENT_STATUSES = [
  'pending',
  'authorized',
  'failed',
  'canceled',
  'succeeded',
  'partially_refunded',
  'refunded',
] as const

export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]

export interface PaymentState {
  status: PaymentStatus
  amount: number
  amount_refunded: number
  currency: string
  /** The time of the report, in milliseconds since the epoch. Used to order reports of open states only. */
  said_at: number
}

/** The rank of each status. Closed statuses outrank open statuses and closed statuses with a lower rank. */
const RANKS: Record<PaymentStatus, number> = {
  pending: 0,
  authorized: 0,
  failed: 0,
  canceled: 1,
  succeeded: 2,
  partially_refunded: 3,
  refunded: 4,
}

/** The order of open statuses that were reported in the same second. Providers send times in seconds. */
const AT_ONCE: Partial<Record<PaymentStatus, number>> = { pending: 0, failed: 1, authorized: 2 }

/** The rank from which on the amount of a payment no longer changes. */
const PAID = RANKS.succeeded

const ACTIONS: Record<PaymentStatus, PaymentAction> = {
  pending: 'payment.updated',
  authorized: 'payment.updated',
  failed: 'payment.failed',
  canceled: 'payment.canceled',
  succeeded: 'payment.succeeded',
  partially_refunded: 'payment.refunded',
  refunded: 'payment.refunded',
}

export type PaymentAction = Extract<PublicAction, `payment.${string}`>

export type Move =
  /** The new state. The action is null if no visible field has changed. */
  { to: PaymentState; action: PaymentAction | null } | { refused: UnusableReason }

/** Applies facts to the state of a payment, or to null for a new payment. Returns null if the facts change nothing. */
export function moved(from: PaymentState | null, facts: PaymentFacts): Move | null {
  if (from && from.currency !== facts.currency) return { refused: 'other_currency' }
  const to = said(from, facts)
  if (to.amount_refunded > to.amount) return { refused: 'refund_too_large' }
  if (!from) return { to, action: ACTIONS[to.status] }
  if (!isForward(from, to)) return null
  const isVisible = to.status !== from.status || to.amount !== from.amount || grows(from, to)
  return { to, action: isVisible ? ACTIONS[to.status] : null }
}

function said(from: PaymentState | null, facts: PaymentFacts): PaymentState {
  const { currency, said_at } = facts
  const amount = from && RANKS[from.status] >= PAID ? from.amount : facts.amount
  const reported = facts.amount_refunded === 'all' ? amount : facts.amount_refunded
  if (facts.status !== 'succeeded')
    return { status: facts.status, amount, amount_refunded: 0, currency, said_at }
  // The larger of two reported totals is the newer one, because the refunded total only grows.
  const amount_refunded = Math.max(reported, from?.amount_refunded ?? 0)
  const isAll = facts.amount_refunded === 'all' || from?.status === 'refunded'
  const status = statusOf(amount, amount_refunded, isAll)
  return { status, amount, amount_refunded, currency, said_at }
}

function statusOf(amount: number, refunded: number, isAll: boolean): PaymentStatus {
  if (isAll || (refunded > 0 && refunded >= amount)) return 'refunded'
  return refunded > 0 ? 'partially_refunded' : 'succeeded'
}

const grows = (from: PaymentState, to: PaymentState) => to.amount_refunded > from.amount_refunded

function isForward(from: PaymentState, to: PaymentState): boolean {
  const [was, is] = [RANKS[from.status], RANKS[to.status]]
  if (was !== is) return is > was
  if (was > 0) return grows(from, to)
  if (from.said_at !== to.said_at) return to.said_at > from.said_at
  const [one, other] = [AT_ONCE[from.status] ?? 0, AT_ONCE[to.status] ?? 0]
  return one === other ? to.amount > from.amount : other > one
}
