/** When a notification is tried again, and when no more. */
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { Reading } from '../payment-facts.ts'
import { openLedger } from './ledger.ts'
import { judged } from './verdicts.ts'

const LATER: Reading = { is: 'later', reason: 'not_confirmed', forGood: false }
const verdictOn = (reading: Reading, tries: number, age = 0) =>
  judged(reading, { tries, age }, new Set(), openLedger([]))

test('pauses grow from 5 seconds to half an hour, each twice the one before', () => {
  const pauses = Array.from({ length: 12 }, (_, tries) => verdictOn(LATER, tries).againIn)
  expect(pauses.map((ms) => (ms ?? 0) / SECOND)).toEqual([
    5, 10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800,
  ])
  expect(verdictOn(LATER, 1_000_000).againIn).toBe(30 * MINUTE)
})

describe('nobody is asked any more', () => {
  test.each([
    ['after a day, and five tries', 4, DAY, 'failed'],
    ['not before a day, however often it was tried', 1_000, DAY - 1, 'received'],
    ['not before five tries, however long ago it came', 3, 30 * DAY, 'received'],
  ])('%s', (_what, tries, age, state) => {
    expect(verdictOn(LATER, tries, age)).toMatchObject({ state, reason: 'not_confirmed' })
  })

  test('unless the credentials are refused: that is no fault of the notification', () => {
    const refused: Reading = { is: 'later', reason: 'provider_refused', forGood: true }
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
])('a refund that its payment does not grow by is, %i ms after it came, %s', (age, state) => {
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
  const reading: Reading = { is: 'payment', facts, isGrowth: true }
  const verdict = judged(reading, { tries: 20, age }, new Set([7]), openLedger([known]))
  expect(verdict.state).toBe(state)
})
