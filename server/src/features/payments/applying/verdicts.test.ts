/** Tests when a notification is retried, and when its retries end. */
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { PaymentReading } from '../payment-facts.ts'
import { openLedger } from './ledger.ts'
import { judged } from './verdicts.ts'

const LATER: PaymentReading = { is: 'later', reason: 'not_confirmed', forGood: false }
const verdictOn = (reading: PaymentReading, tries: number, age = 0) =>
  judged(reading, { tries, age }, new Set(), openLedger([]))

test('the worker for payment notifications doubles the pause before each retry, from 5 seconds up to half an hour', () => {
  const pauses = Array.from({ length: 12 }, (_, tries) => verdictOn(LATER, tries).againIn)
  expect(pauses.map((ms) => (ms ?? 0) / SECOND)).toEqual([
    5, 10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800,
  ])
  expect(verdictOn(LATER, 1_000_000).againIn).toBe(30 * MINUTE)
})

describe('a payment notification that cannot be applied', () => {
  test.each([
    ['fails after a day with at least five attempts', 4, DAY, 'failed'],
    ['is retried for a day, even after many attempts', 1_000, DAY - 1, 'received'],
    ['is retried up to five times, even after a day', 3, 30 * DAY, 'received'],
  ])('%s', (_what, tries, age, state) => {
    expect(verdictOn(LATER, tries, age)).toMatchObject({ state, reason: 'not_confirmed' })
  })

  test('does not fail while the provider rejects the credentials', () => {
    const refused: PaymentReading = { is: 'later', reason: 'provider_refused', forGood: true }
    expect(verdictOn(refused, 1_000, 30 * DAY)).toMatchObject({
      state: 'received',
      againIn: 5 * MINUTE,
      isRearmed: true,
    })
  })
})

test.each([
  [6 * HOUR - 1, 'received'],
  [6 * HOUR, 'superseded'],
])(
  'the worker for payment notifications supersedes a refund that the payment does not include within six hours: after %i ms it is %s',
  (age, state) => {
    const facts = {
      provider: 'paygate',
      provider_payment_id: 'p1',
      tenant_id: 7,
      status: 'succeeded',
      amount: 1000,
      amount_refunded: 300,
      currency: 'EUR',
      test: false,
      said_at: 0,
    } as const
    const known = { ...facts, id: 1, status: 'partially_refunded' } as const
    const reading: PaymentReading = { is: 'payment', facts, isGrowth: true }
    const verdict = judged(reading, { tries: 20, age }, new Set([7]), openLedger([known]))
    expect(verdict.state).toBe(state)
  },
)
