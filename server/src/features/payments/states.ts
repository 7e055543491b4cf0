/**
 * What a payment becomes by what a provider says, in whichever order and however often that comes: a
 * payment only moves forward, so that all orders end in the same (see docs/payments.md for the diagram).
 */
import type { PublicAction } from '../../platform/journal/index.ts'
import type { PaymentFacts, Reason } from './payment-facts.ts'

export const STATUSES = [
  'pending',
  'authorized',
  'failed',
  'canceled',
  'succeeded',
  'partially_refunded',
  'refunded',
] as const

export type Status = (typeof STATUSES)[number]

/** What of a payment can change. */
export interface PaymentState {
  status: Status
  amount: number
  amount_refunded: number
  currency: string
  /** Milliseconds since the epoch: of what was said last while it was open. */
  said_at: number
}

/** Closed ones outrank all open ones, and each other. */
const RANKS: Record<Status, number> = {
  pending: 0,
  authorized: 0,
  failed: 0,
  canceled: 1,
  succeeded: 2,
  partially_refunded: 3,
  refunded: 4,
}

/** Which of two open states stands that were said at one time: providers count in seconds. */
const AT_ONCE: Partial<Record<Status, number>> = { pending: 0, failed: 1, authorized: 2 }

/** From here on the amount is settled. */
const PAID = RANKS.succeeded

const ACTIONS: Record<Status, PaymentAction> = {
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
  /** What it becomes; without an action nothing of it is to be seen. */
  { to: PaymentState; action: PaymentAction | null } | { refused: Reason }

/** What a payment, or none yet, becomes by these facts; null where they say nothing newer. */
export function moved(from: PaymentState | null, facts: PaymentFacts): Move | null {
  if (from && from.currency !== facts.currency) return { refused: 'other_currency' }
  const to = said(from, facts)
  if (to.amount_refunded > to.amount) return { refused: 'refund_too_large' }
  if (!from) return { to, action: ACTIONS[to.status] }
  if (!isForward(from, to)) return null
  const isSeen = to.status !== from.status || to.amount !== from.amount || grows(from, to)
  return { to, action: isSeen ? ACTIONS[to.status] : null }
}

function said(from: PaymentState | null, facts: PaymentFacts): PaymentState {
  const { currency, said_at } = facts
  const amount = from && RANKS[from.status] >= PAID ? from.amount : facts.amount
  const told = facts.amount_refunded === 'all' ? amount : facts.amount_refunded
  if (facts.status !== 'succeeded')
    return { status: facts.status, amount, amount_refunded: 0, currency, said_at }
  // Of two sums that were said, the larger was said last: what is refunded only grows.
  const amount_refunded = Math.max(told, from?.amount_refunded ?? 0)
  const isAll = facts.amount_refunded === 'all' || from?.status === 'refunded'
  const status = statusOf(amount, amount_refunded, isAll)
  return { status, amount, amount_refunded, currency, said_at }
}

function statusOf(amount: number, refunded: number, isAll: boolean): Status {
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
