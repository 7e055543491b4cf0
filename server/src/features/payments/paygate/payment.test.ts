/** Tests how a payment returned by paygate's API is converted to payment facts. */
import { describe, expect, test } from 'vitest'
import { exactly, type JsonObject } from '../provider-json.ts'
import { isApiStatus, isAskable, paygateReadingOf, saysAtLeast } from './payment.ts'

const PAYMENT = {
  id: '2b-A_9',
  status: 'succeeded',
  amount: { value: '100.00', currency: 'EUR' },
  metadata: { tenant_id: '7' },
}

/** Reads a payment from bytes, like a response of the API is read. */
const read = (payment: object) =>
  paygateReadingOf(exactly(Buffer.from(JSON.stringify(payment))) as JsonObject, 5)
const amount = (value: unknown, currency: unknown) =>
  read({ ...PAYMENT, amount: { value, currency } })

describe('a payment returned by the paygate API', () => {
  test('is converted to payment facts without its other fields', () => {
    const payer = { ...PAYMENT, payer: { name: 'Ann' }, description: 'x', livemode: 1 }
    expect(read(payer)).toEqual({
      is: 'payment',
      facts: {
        provider: 'paygate',
        provider_payment_id: '2b-A_9',
        tenant_id: 7,
        status: 'succeeded',
        amount: 10_000,
        amount_refunded: 0,
        currency: 'EUR',
        test: false,
        said_at: 5,
      },
    })
  })

  test.each([
    ['pending', 'pending'],
    ['waiting_for_capture', 'authorized'],
    ['canceled', 'canceled'],
    ['succeeded', 'succeeded'],
  ])('maps its status %s to %s', (status, expected) => {
    expect(read({ ...PAYMENT, status })).toMatchObject({ facts: { status: expected } })
  })

  test.each([
    [{ refunded_amount: { value: '0.00', currency: 'EUR' } }, 0],
    [{ refunded_amount: { value: '40.50', currency: 'eur' } }, 4_050],
    [{ refunded_amount: { value: '100', currency: 'EUR' } }, 10_000],
    [{ refunded_amount: null }, 0],
  ])('has its refunded amount read from %j', (more, amount_refunded) => {
    expect(read({ ...PAYMENT, ...more })).toMatchObject({ facts: { amount_refunded } })
  })

  test.each([
    ['100.00', 'EUR', 10_000],
    ['100.00', 'JPY', 100],
    ['1.234', 'KWD', 1_234],
    ['0', 'EUR', 0],
  ])('has its amount %s %s converted exactly', (value, currency, units) => {
    expect(amount(value, currency)).toMatchObject({ facts: { amount: units } })
  })

  test.each([
    ['7', 7],
    [7, 7],
    ['007', 7],
    [9_007_199_254_740_991, 9_007_199_254_740_991],
  ])('has its tenant id %j read as %i', (tenant_id, expected) => {
    expect(read({ ...PAYMENT, metadata: { tenant_id } })).toMatchObject({
      facts: { tenant_id: expected },
    })
  })
})

describe('an invalid payment returned by the paygate API', () => {
  test.each([
    ['without a status', { status: undefined }, 'unreadable'],
    ['with an unknown status', { status: 'lost' }, 'unreadable'],
    ['with a status named like a method', { status: 'toString' }, 'unreadable'],
    ['with an id that is unsafe in a path', { id: 'a/b' }, 'unreadable'],
    ['without metadata', { metadata: undefined }, 'tenant_unreadable'],
    ['with tenant 0', { metadata: { tenant_id: 0 } }, 'tenant_unreadable'],
    ['with tenant 7.5', { metadata: { tenant_id: 7.5 } }, 'tenant_unreadable'],
    ['with tenant " 7"', { metadata: { tenant_id: ' 7' } }, 'tenant_unreadable'],
    ['with tenant -7', { metadata: { tenant_id: '-7' } }, 'tenant_unreadable'],
    ['without an amount', { amount: undefined }, 'currency_unknown'],
    ['with an amount without a currency', { amount: '100.00' }, 'currency_unknown'],
    [
      'with a refund in another currency',
      { refunded_amount: { value: '1.00', currency: 'USD' } },
      'amount_unreadable',
    ],
  ])('is rejected: a payment %s', (_what, more, reason) => {
    expect(read({ ...PAYMENT, ...more })).toMatchObject({ is: 'failed', reason })
  })

  test.each([
    ['100.001', 'EUR', 'amount_unreadable'],
    ['100.01', 'JPY', 'amount_unreadable'],
    ['-1.00', 'EUR', 'amount_unreadable'],
    ['1e2', 'EUR', 'amount_unreadable'],
    [100, 'EUR', 'amount_unreadable'],
    ['90071992547409.92', 'EUR', 'amount_unreadable'],
    ['1.00', 'ABC', 'currency_unknown'],
    ['1.00', undefined, 'currency_unknown'],
  ])(
    'is rejected with the amount %j %s, because no amount is rounded',
    (value, currency, reason) => {
      expect(amount(value, currency)).toEqual({ is: 'failed', reason, tenant_id: 7 })
    },
  )

  test('is rejected if JavaScript would round its tenant ID', () => {
    const text = JSON.stringify(PAYMENT).replace('"7"', '9007199254740993')
    expect(paygateReadingOf(exactly(Buffer.from(text)) as JsonObject, 5)).toMatchObject({
      is: 'failed',
      reason: 'tenant_unreadable',
    })
  })
})

describe('a payment status of the paygate API', () => {
  test.each([
    ['succeeded', 'succeeded', true],
    ['succeeded', 'pending', true],
    ['succeeded', 'canceled', true],
    ['canceled', 'waiting_for_capture', true],
    ['waiting_for_capture', 'succeeded', false],
    ['pending', 'waiting_for_capture', false],
    ['canceled', 'succeeded', false],
    ['lost', 'pending', false],
    [undefined, 'pending', false],
  ] as const)(
    'is compared with the notification: %s confirms %s: %s',
    (said, claimed, expected) => {
      expect(saysAtLeast(said, claimed)).toBe(expected)
    },
  )

  test('is recognized only if its name is known', () => {
    expect(['pending', 'toString', 'Pending', '', undefined, 7].map(isApiStatus)).toEqual([
      true,
      ...Array(5).fill(false),
    ])
  })
})

test.each([
  ['2d1c-A_9', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['a/b', false],
  ['..', false],
  ['a%2fb', false],
  ['a?b', false],
  ['a\n', false],
  ['é', false],
  [7, false],
])('the service decides whether %j is safe in a URL path: %s', (id, expected) => {
  expect(isAskable(id)).toBe(expected)
})
