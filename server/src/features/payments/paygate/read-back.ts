/**
 * Queries paygate's API to confirm a notice. An unsigned notice is only a hint. The result is the API's response, which
 * must confirm at least the statuses that the notice claims (decisions §6).
 */
import type { PaymentReading } from '../payment-facts.ts'
import type { JsonObject } from '../provider-json.ts'
import type { PaygateAnswer, PaygateApi } from './api.ts'
import { type Hint, hintIn } from './notice.ts'
import { isApiStatus, isAskable, paygateReadingOf, saysAtLeast, sumIn } from './payment.ts'

export type ReadBack = (body: Buffer, signal: AbortSignal) => Promise<PaymentReading>

export function readBack(api: PaygateApi): ReadBack {
  async function ofPayment(
    id: string,
    signal: AbortSignal,
    isTrue: (payment: JsonObject) => boolean,
  ): Promise<PaymentReading> {
    const answer = await api.payment(id, signal)
    if (answer.is !== 'said') return again(answer)
    if (answer.object.id !== id) return AWAY
    const { object: payment, askedAt } = answer
    // Reports an unknown status as unreadable. A retry would return the same status.
    if (!isApiStatus(payment.status) || isTrue(payment)) return paygateReadingOf(payment, askedAt)
    return UNCONFIRMED
  }

  async function ofRefund({ id, claims }: Hint, signal: AbortSignal): Promise<PaymentReading> {
    const answer = await api.refund(id, signal)
    if (answer.is !== 'said') return again(answer)
    const { object: refund } = answer
    if (refund.id !== id) return AWAY
    if (!claims.every((claim) => saysAtLeast(refund.status, claim))) return UNCONFIRMED
    if (!isAskable(refund.payment_id)) return { is: 'failed', reason: 'unreadable' }
    const reading = await ofPayment(refund.payment_id, signal, (payment) =>
      isCounted(refund, payment),
    )
    // The refunded total may include only earlier refunds and not this one yet.
    return reading.is === 'payment' && refund.status === 'succeeded'
      ? { ...reading, isGrowth: true }
      : reading
  }

  return async (body, signal) => {
    const hint = hintIn(body)
    if (hint?.about === 'other') return { is: 'ignored' }
    if (!isAskable(hint?.id)) return { is: 'failed', reason: 'unreadable' }
    if (hint.about === 'refund') return ofRefund(hint, signal)
    return ofPayment(hint.id, signal, ({ status }) =>
      hint.claims.every((claim) => saysAtLeast(status, claim)),
    )
  }
}

/** Returns whether the payment's refunded total can already include the refund. */
function isCounted(refund: JsonObject, payment: JsonObject): boolean {
  if (refund.status !== 'succeeded') return true
  const said = paygateReadingOf(payment, 0)
  if (said.is !== 'payment') return true
  const { amount_refunded, currency } = said.facts
  const sum = sumIn(refund.amount, currency)
  return typeof amount_refunded !== 'number' || sum === undefined || amount_refunded >= sum
}

const AWAY: PaymentReading = { is: 'later', reason: 'provider_away', forGood: false }
const UNCONFIRMED: PaymentReading = { is: 'later', reason: 'not_confirmed', forGood: false }
const REFUSED: PaymentReading = { is: 'later', reason: 'provider_refused', forGood: true }

function again({ is }: Exclude<PaygateAnswer, { is: 'said' }>): PaymentReading {
  if (is === 'refused') return REFUSED
  return is === 'missing' ? UNCONFIRMED : AWAY
}
