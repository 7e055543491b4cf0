/** Tests that amounts are converted exactly or rejected. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../test/support/properties.ts'
import { currencyOf, exponentOf, minorUnits, showAmount, wholeUnits } from './money.ts'

/** One currency for each number of decimal places in ISO 4217. */
const CURRENCIES = { JPY: 0, EUR: 2, KWD: 3, CLF: 4 } as const
const aCurrency = fc.constantFrom(...(Object.keys(CURRENCIES) as (keyof typeof CURRENCIES)[]))
const anAmount = fc.maxSafeNat()

/** Formats an amount as providers do, by inserting a decimal point into its digits. */
function written(amount: number, digits: number): string {
  const text = String(amount).padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

describe('minorUnits', () => {
  test.each([
    ['100.00', 'EUR', 10_000],
    ['100.00', 'JPY', 100],
    ['1.234', 'KWD', 1234],
    ['0.00', 'EUR', 0],
    ['7', 'EUR', 700],
    ['7.5', 'EUR', 750],
    ['7.500000', 'EUR', 750],
    ['0.0001', 'CLF', 1],
    ['90071992547409.91', 'EUR', Number.MAX_SAFE_INTEGER],
    ['007.10', 'EUR', 710],
  ])('converts %s %s to %i', (decimal, currency, expected) => {
    expect(minorUnits(decimal, currency)).toBe(expected)
  })

  test.each([
    ['1.005', 'EUR'],
    ['1.5', 'JPY'],
    ['0.00001', 'CLF'],
    ['90071992547409.92', 'EUR'],
    ['9'.repeat(64), 'JPY'],
    [`0.${'0'.repeat(70)}`, 'EUR'],
    ['-1.00', 'EUR'],
    ['+1.00', 'EUR'],
    ['1e2', 'EUR'],
    ['1E2', 'EUR'],
    [' 1.00', 'EUR'],
    ['1.00 ', 'EUR'],
    ['1.00\n', 'EUR'],
    ['1 000.00', 'EUR'],
    ['1,000.00', 'EUR'],
    ['1,00', 'EUR'],
    ['.50', 'EUR'],
    ['1.', 'EUR'],
    ['1.0.0', 'EUR'],
    ['', 'EUR'],
    ['0x10', 'EUR'],
    ['Infinity', 'EUR'],
    ['١٠٠', 'EUR'],
    ['１００', 'EUR'],
    [100, 'EUR'],
    [null, 'EUR'],
    [undefined, 'EUR'],
  ])('rejects %j %s', (decimal, currency) => {
    expect(minorUnits(decimal, currency)).toBeUndefined()
  })

  test('parses any formatted amount in any currency exactly', () => {
    fc.assert(
      fc.property(anAmount, aCurrency, (amount, currency) => {
        expect(minorUnits(written(amount, CURRENCIES[currency]), currency)).toBe(amount)
      }),
    )
  })

  test('accepts extra decimal places only if they are zero', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        aCurrency,
        fc.integer({ min: 0, max: 20 }),
        fc.integer({ min: 1, max: 9 }),
        (amount, currency, zeros, digit) => {
          const digits = CURRENCIES[currency]
          const point = digits === 0 ? '.' : ''
          const longer = `${written(amount, digits)}${point}${'0'.repeat(zeros)}`
          expect(minorUnits(`${longer}0`, currency)).toBe(amount)
          expect(minorUnits(`${longer}${digit}`, currency)).toBeUndefined()
        },
      ),
    )
  })

  test('preserves the order of amounts', () => {
    fc.assert(
      fc.property(anAmount, anAmount, aCurrency, (one, other, currency) => {
        const [a, b] = [one, other].map((amount) =>
          minorUnits(written(amount, CURRENCIES[currency]), currency),
        ) as [number, number]
        expect(Math.sign(a - b)).toBe(Math.sign(one - other))
      }),
    )
  })

  test('returns a safe integer or undefined for any text', () => {
    fc.assert(
      fc.property(fc.string(), aCurrency, (text, currency) => {
        const units = minorUnits(text, currency)
        expect(units === undefined || (Number.isSafeInteger(units) && units >= 0)).toBe(true)
      }),
    )
  })
})

describe('wholeUnits', () => {
  test('accepts integers up to 2^53-1', () => {
    fc.assert(fc.property(anAmount, (amount) => wholeUnits(String(amount)) === amount))
    expect(wholeUnits('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER)
  })

  test.each([
    '9007199254740992',
    '1.',
    '.0',
    '1.01',
    '1e3',
    '-0',
    '-5',
    '+5',
    '05',
    '',
    '"5"',
    'null',
    ' 5',
  ])('rejects %j', (source) => {
    expect(wholeUnits(source)).toBeUndefined()
  })

  test('rejects a missing value', () => {
    expect(wholeUnits(undefined)).toBeUndefined()
  })
})

describe('a currency', () => {
  test.each([
    ['EUR', 2],
    ['IQD', 3],
    ['HUF', 2],
    ['COP', 2],
    ['JPY', 0],
    ['KWD', 3],
    ['CLF', 4],
    ['MGA', 2],
    ['ISK', 0],
  ])('%s has the %i decimal places of ISO 4217, not those of Intl', (code, digits) => {
    expect(exponentOf(code)).toBe(digits)
  })

  test('is recognized in upper and lower case', () => {
    expect(currencyOf('eur')).toBe('EUR')
    expect(currencyOf('Eur')).toBe('EUR')
  })

  test.each(['XXX', 'XAU', 'ABC', 'EU', 'EURO', '', ' EUR', 'EUR\n', 'ſek', 978, null, undefined])(
    'rejects %j',
    (code) => {
      expect(currencyOf(code)).toBeUndefined()
    },
  )

  test('throws for the decimal places of an unknown code', () => {
    expect(() => exponentOf('XXX')).toThrow(RangeError)
  })
})

test.each([
  [10_000, 'EUR', '100.00 EUR'],
  [5, 'eur', '0.05 EUR'],
  [100, 'JPY', '100 JPY'],
  [1234, 'KWD', '1.234 KWD'],
  [Number.MAX_SAFE_INTEGER, 'EUR', '90071992547409.91 EUR'],
  [-1, 'EUR', undefined],
  [1.5, 'EUR', undefined],
  [1, 'XXX', undefined],
  [null, null, undefined],
])('the service shows %s minor units of %s as %s', (minor, currency, shown) => {
  expect(showAmount(minor, currency)).toBe(shown)
})
