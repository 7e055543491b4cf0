/** Tests that a payment never returns to an earlier state, and that the order of notices does not matter. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../test/support/properties.ts'
import type { PaymentFacts, SaidStatus } from './payment-facts.ts'
import { type Move, moved, type PaymentState } from './states.ts'

const facts = (status: SaidStatus, more: Partial<PaymentFacts> = {}): PaymentFacts => ({
  provider: 'cardnet',
  provider_payment_id: 'pay_1',
  tenant_id: 2,
  status,
  amount: 1000,
  amount_refunded: 0,
  currency: 'EUR',
  test: false,
  said_at: 5,
  ...more,
})

type Seen = Extract<Move, { to: PaymentState }>

/** Applies facts in order. Returns the final state and the published actions. */
function after(said: readonly PaymentFacts[]) {
  let state: PaymentState | null = null
  const actions: (string | null)[] = []
  for (const next of said) {
    const move = moved(state, next)
    if (move && 'to' in move) {
      state = move.to
      actions.push(move.action)
    }
  }
  return { state: state as PaymentState | null, actions }
}
const statusAfter = (...said: PaymentFacts[]) => after(said).state?.status

/** Returns the visible fields of a payment. */
function shown(state: PaymentState | null) {
  if (!state) return null
  const { said_at: _, ...rest } = state
  return rest
}

describe('an open payment', () => {
  test('gets the state that was reported last, even if reports arrive in another order', () => {
    const [early, late] = [facts('failed', { said_at: 1 }), facts('authorized', { said_at: 2 })]
    expect(statusAfter(early, late)).toBe('authorized')
    expect(statusAfter(late, early)).toBe('authorized')
  })

  test('changes its state again after a failed attempt', () => {
    const said = ['pending', 'failed', 'authorized', 'failed'] as const
    expect(statusAfter(...said.map((status, said_at) => facts(status, { said_at })))).toBe('failed')
  })

  test('takes the amount of a later report', () => {
    const { state, actions } = after([
      facts('authorized', { said_at: 1 }),
      facts('authorized', { said_at: 2, amount: 700 }),
    ])
    expect(state?.amount).toBe(700)
    expect(actions).toEqual(['payment.updated', 'payment.updated'])
  })

  test('stores the time of a repeated report, and publishes no event', () => {
    const said = [facts('pending', { said_at: 1 }), facts('pending', { said_at: 3 })]
    expect(after(said).actions).toEqual(['payment.updated', null])
    expect(statusAfter(...said, facts('failed', { said_at: 2 }))).toBe('pending')
  })
})

describe('a closed payment', () => {
  const closed = [
    facts('canceled'),
    facts('succeeded'),
    facts('succeeded', { amount_refunded: 1 }),
    facts('succeeded', { amount_refunded: 'all' }),
  ]

  test('stays closed after a later report of an open state', () => {
    for (const end of closed)
      for (const status of ['pending', 'authorized', 'failed'] as const)
        expect(moved((moved(null, end) as Seen).to, facts(status, { said_at: 9e12 }))).toBeNull()
  })

  test('changes only to closed states of a higher rank', () => {
    closed.forEach((one, rank) => {
      const from = (moved(null, one) as Seen).to
      closed.forEach((other, above) => {
        expect(moved(from, other) !== null, `${rank} to ${above}`).toBe(above > rank)
      })
    })
  })

  test('keeps the paid amount if a refund reports another amount', () => {
    const { state } = after([
      facts('authorized', { said_at: 1 }),
      facts('succeeded', { amount: 800 }),
      facts('succeeded', { amount: 1000, amount_refunded: 'all' }),
    ])
    expect(state).toMatchObject({ amount: 800, amount_refunded: 800, status: 'refunded' })
  })
})

describe('a refund', () => {
  const refund = (amount_refunded: number | 'all') => facts('succeeded', { amount_refunded })

  test('only increases the refunded total, and publishes an event for each increase', () => {
    const { state, actions } = after([
      facts('succeeded'),
      refund(300),
      refund(300),
      refund(100),
      refund(900),
      refund(1000),
    ])
    expect(state).toMatchObject({ status: 'refunded', amount: 1000, amount_refunded: 1000 })
    expect(actions).toEqual(['payment.succeeded', ...Array(3).fill('payment.refunded')])
  })

  test('needs no amount if it refunds the whole payment', () => {
    expect(after([facts('succeeded'), refund('all')]).state?.amount_refunded).toBe(1000)
  })

  test('does not change the payment status if its amount is zero', () => {
    expect(statusAfter(facts('succeeded'), refund(0))).toBe('succeeded')
  })

  test('of a payment of zero changes the status only if the refund is complete', () => {
    expect(statusAfter(facts('succeeded', { amount: 0 }))).toBe('succeeded')
    expect(statusAfter(facts('succeeded', { amount: 0, amount_refunded: 'all' }))).toBe('refunded')
  })

  test('is rejected if it exceeds the amount paid', () => {
    expect(moved(null, refund(1001))).toEqual({ refused: 'refund_too_large' })
    const paid = (moved(null, facts('succeeded', { amount: 800 })) as Seen).to
    expect(moved(paid, refund(900))).toEqual({ refused: 'refund_too_large' })
  })
})

test('a payment rejects reports in another currency than the payment', () => {
  const from = (moved(null, facts('pending')) as Seen).to
  expect(moved(from, facts('succeeded', { currency: 'USD' }))).toEqual({
    refused: 'other_currency',
  })
})

/** Generates a consistent history of the reports about one payment. */
const aHistory = fc
  .record({
    open: fc.array(
      fc.record({
        status: fc.constantFrom('pending' as const, 'authorized' as const, 'failed' as const),
        said_at: fc.nat(4),
        amount: fc.constantFrom(1000, 1200),
      }),
      { maxLength: 5 },
    ),
    isCanceled: fc.boolean(),
    isPaid: fc.boolean(),
    refunds: fc.array(fc.constantFrom(0, 100, 500, 800, 'all' as const), { maxLength: 4 }),
  })
  .map(({ open, isCanceled, isPaid, refunds }) => [
    ...open.map(({ status, ...more }) => facts(status, more)),
    ...(isCanceled ? [facts('canceled', { said_at: 7 })] : []),
    ...(isPaid ? [facts('succeeded', { amount: 800, said_at: 6 })] : []),
    ...refunds.map((amount_refunded) => facts('succeeded', { amount: 800, amount_refunded })),
  ])

/** Generates an order of arrival for a history: each report arrives at least once, in any order, with repeats. */
const deliveries = (history: PaymentFacts[]) =>
  fc
    .tuple(
      fc.shuffledSubarray(history, { minLength: history.length }),
      fc.array(fc.nat(Math.max(history.length - 1, 0)), { maxLength: history.length }),
    )
    .map(([once, again]) => [...once, ...again.flatMap((index) => history[index] ?? [])])

describe('reports about a payment in any order and with repeats', () => {
  const twoWays = aHistory.chain((history) => fc.tuple(deliveries(history), deliveries(history)))

  test('lead to the same payment in every order', () => {
    fc.assert(
      fc.property(twoWays, ([one, other]) => {
        expect(shown(after(one).state)).toEqual(shown(after(other).state))
      }),
      { numRuns: 2_000 },
    )
  })

  test('never lower the rank of the status or the refunded total', () => {
    const ranks = ['open', 'canceled', 'succeeded', 'partially_refunded', 'refunded']
    const rank = (state: PaymentState) => Math.max(ranks.indexOf(state.status), 0)
    fc.assert(
      fc.property(aHistory.chain(deliveries), (said) => {
        let state: PaymentState | null = null
        for (const next of said) {
          const move = moved(state, next)
          if (!move || !('to' in move)) continue
          if (state) {
            expect(rank(move.to)).toBeGreaterThanOrEqual(rank(state))
            expect(move.to.amount_refunded).toBeGreaterThanOrEqual(state.amount_refunded)
          }
          state = move.to
        }
      }),
    )
  })

  test('change nothing when they are delivered again', () => {
    fc.assert(
      fc.property(aHistory.chain(deliveries), (said) => {
        const { state } = after(said)
        for (const again of said) expect(moved(state, again)).toBeNull()
      }),
    )
  })

  test('lead to the paid amount and the largest refunded total', () => {
    fc.assert(
      fc.property(aHistory.chain(deliveries), (said) => {
        const paid = said.filter(({ status }) => status === 'succeeded')
        if (paid.length === 0) return
        const sums = paid.map(({ amount_refunded: sum }) => (sum === 'all' ? 800 : sum))
        expect(after(said).state).toMatchObject({
          amount: 800,
          amount_refunded: Math.max(...sums),
        })
      }),
    )
  })
})
