import { expect, test } from 'vitest'
import { formatMoney } from './money.ts'

test.each([
  [10_000, 'EUR', 2, 'EUR 100.00'],
  [5, 'EUR', 2, 'EUR 0.05'],
  [500, 'JPY', 0, 'JPY 500'],
  [1_234_567, 'KWD', 3, 'KWD 1,234.567'],
  [Number.MAX_SAFE_INTEGER, 'EUR', 2, 'EUR 90,071,992,547,409.91'],
])('formats %d minor units of %s with %d places as %s', (amount, currency, places, written) => {
  const money = formatMoney({ amount, currency, currency_exponent: places })
  expect(money.replaceAll('\u00a0', ' ')).toBe(written)
})
