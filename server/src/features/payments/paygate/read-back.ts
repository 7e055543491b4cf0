/**
 * Finds out what a notice of paygate's is worth. It is only a hint, as nobody has signed it: what counts
 * is what the API says when it is asked, and it has to say as much as the notice does (decisions §6).
 */
import type { Reading } from '../payment-facts.ts'
import type { JsonObject } from '../provider-json.ts'
import type { Answer, PaygateApi } from './api.ts'
import { type Hint, hintIn } from './notice.ts'
import { isApiStatus, isAskable, readingOf, saysAtLeast, sumIn } from './payment.ts'

export type ReadBack = (body: Buffer, signal: AbortSignal) => Promise<Reading>

export function readBack(api: PaygateApi): ReadBack {
  async function ofPayment(
    id: string,
    signal: AbortSignal,
    isTrue: (payment: JsonObject) => boolean,
  ): Promise<Reading> {
    const answer = await api.payment(id, signal)
    if (answer.is !== 'said') return again(answer)
    if (answer.object.id !== id) return AWAY
    const { object: payment, askedAt } = answer
    // No state that we know can be waited for: it is told at once.
    if (!isApiStatus(payment.status) || isTrue(payment)) return readingOf(payment, askedAt)
    return UNCONFIRMED
  }

  async function ofRefund({ id, claims }: Hint, signal: AbortSignal): Promise<Reading> {
    const answer = await api.refund(id, signal)
    if (answer.is !== 'said') return again(answer)
    const { object: refund } = answer
    if (refund.id !== id) return AWAY
    if (!claims.every((claim) => saysAtLeast(refund.status, claim))) return UNCONFIRMED
    if (!isAskable(refund.payment_id)) return { is: 'failed', reason: 'unreadable' }
    const reading = await ofPayment(refund.payment_id, signal, (payment) =>
      isCounted(refund, payment),
    )
    // The sum may hold others alone that were made before it.
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

/** Whether the payment knows of the refund already: both are asked for one after the other. */
function isCounted(refund: JsonObject, payment: JsonObject): boolean {
  if (refund.status !== 'succeeded') return true
  const said = readingOf(payment, 0)
  if (said.is !== 'payment') return true
  const { amount_refunded, currency } = said.facts
  const sum = sumIn(refund.amount, currency)
  return typeof amount_refunded !== 'number' || sum === undefined || amount_refunded >= sum
}

const AWAY: Reading = { is: 'later', reason: 'provider_away', forGood: false }
const UNCONFIRMED: Reading = { is: 'later', reason: 'not_confirmed', forGood: false }
const REFUSED: Reading = { is: 'later', reason: 'provider_refused', forGood: true }

function again({ is }: Exclude<Answer, { is: 'said' }>): Reading {
  if (is === 'refused') return REFUSED
  return is === 'missing' ? UNCONFIRMED : AWAY
}
