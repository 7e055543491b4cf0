/** Tests the length of a number that is written without an exponent. */

import { describe, expect, test } from 'vitest'
import { migratedDatabase } from '../../test/support/database.ts'
import { fc } from '../../test/support/properties.ts'
import { digitsBeyondJson } from './decimal.ts'

const lengthOf = (number: number) => JSON.stringify(number).length + digitsBeyondJson(number)

describe('the plain decimal length of a number', () => {
  test.each([
    [0],
    [-0],
    [7],
    [-1.5],
    [0.000001],
    [2 ** 53],
    [123456789012345680000],
    // JSON writes infinities and NaN as null.
    [Number.POSITIVE_INFINITY],
    [Number.NaN],
  ])('equals the length of its JSON text if that has no exponent: %d', (number) => {
    expect(digitsBeyondJson(number)).toBe(0)
  })

  test.each([
    [1e21, 22],
    [-1e21, 23],
    [1.5e300, 301],
    [1e308, 309],
    [Number.MAX_VALUE, 309],
    [1e-7, 9],
    [-1.5e-7, 11],
    [5e-324, 326],
    [2.2250738585072014e-308, 326],
  ])('includes the zeros that an exponent stands for: %d', (number, length) => {
    expect(lengthOf(number)).toBe(length)
  })
})

test('the computed length of a number equals the length that PostgreSQL writes', async () => {
  const database = await migratedDatabase()
  const doubles = fc.double({ noNaN: true, noDefaultInfinity: true })
  const numbers = [...fc.sample(doubles, 2_000), 5e-324, -1e308, 1e21, 1e-7]
  const rows = await database.sql<{ length: number }>(
    'select length(value::text) as length from jsonb_array_elements($1::jsonb)',
    [JSON.stringify(numbers)],
  )
  expect(rows.map(({ length }) => Number(length))).toEqual(numbers.map(lengthOf))
})
