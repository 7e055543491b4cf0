/** The text of path and query, as the types that their schema names. */
import { describe, expect, test } from 'vitest'
import { coerceText } from './coerce.ts'

function coerced(value: unknown, type: string): unknown {
  const input: Record<string, unknown> = { it: value }
  coerceText(input, { it: { type } })
  return input.it
}

describe('an integer', () => {
  test.each([
    ['0', 0],
    ['42', 42],
    ['-7', -7],
    ['+7', 7],
    ['007', 7],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('is read from "%s"', (text, value) => {
    expect(coerced(text, 'integer')).toBe(value)
  })

  test.each(['', ' 1', '1 ', '1.0', '1e3', '0x10', '١', 'one', '1_000', 'NaN', '1'.repeat(21)])(
    'is not read from "%s", which stays as it is',
    (text) => {
      expect(coerced(text, 'integer')).toBe(text)
    },
  )
})

describe('a boolean', () => {
  test.each(['true', 'TRUE', '1', 'yes', 'on', 't', 'y'])('is true for "%s"', (text) => {
    expect(coerced(text, 'boolean')).toBe(true)
  })

  test.each(['false', 'False', '0', 'no', 'off', 'f', 'n'])('is false for "%s"', (text) => {
    expect(coerced(text, 'boolean')).toBe(false)
  })

  test.each(['', '2', 'maybe', 'truee', ' true'])('is not read from "%s"', (text) => {
    expect(coerced(text, 'boolean')).toBe(text)
  })
})

test('text stays text', () => {
  expect(coerced('42', 'string')).toBe('42')
  expect(coerced('true', 'string')).toBe('true')
})

test('of a parameter that is repeated, the last value counts', () => {
  expect(coerced(['1', '2', '3'], 'integer')).toBe(3)
  expect(coerced(['a', 'b'], 'string')).toBe('b')
})

test('a parameter whose schema is a list is one, even if it is sent once', () => {
  const input: Record<string, unknown> = { it: '7', words: ['a', '1'] }
  const list = (type: string) => ({ type: 'array', items: { type } })
  coerceText(input, { it: list('integer'), words: list('string'), absent: list('string') })
  expect(input).toEqual({ it: [7], words: ['a', '1'] })
})

test('what is absent stays absent, and what no schema names is left alone', () => {
  const input: Record<string, unknown> = { other: '1' }
  coerceText(input, { it: { type: 'integer' } })
  expect(input).toEqual({ other: '1' })
})
