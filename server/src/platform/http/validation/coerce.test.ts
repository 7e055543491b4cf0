/** Tests the conversion of path and query text to the types of the schema. */
import { describe, expect, test } from 'vitest'
import { coerceText } from './coerce.ts'

function coerced(value: unknown, type: string): unknown {
  const input: Record<string, unknown> = { it: value }
  coerceText(input, { it: { type } })
  return input.it
}

describe('an integer in a path or query', () => {
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
    'is not read from "%s", which stays text',
    (text) => {
      expect(coerced(text, 'integer')).toBe(text)
    },
  )
})

describe('a boolean in a path or query', () => {
  test.each(['true', 'TRUE', '1', 'yes', 'on', 't', 'y'])('is true for "%s"', (text) => {
    expect(coerced(text, 'boolean')).toBe(true)
  })

  test.each(['false', 'False', '0', 'no', 'off', 'f', 'n'])('is false for "%s"', (text) => {
    expect(coerced(text, 'boolean')).toBe(false)
  })

  test.each(['', '2', 'maybe', 'truee', ' true'])(
    'is not read from "%s", which stays text',
    (text) => {
      expect(coerced(text, 'boolean')).toBe(text)
    },
  )
})

test('a text parameter stays text, even if it looks like a number', () => {
  expect(coerced('42', 'string')).toBe('42')
  expect(coerced('true', 'string')).toBe('true')
})

test('a repeated parameter has its last value', () => {
  expect(coerced(['1', '2', '3'], 'integer')).toBe(3)
  expect(coerced(['a', 'b'], 'string')).toBe('b')
})

test('a single value becomes a list if the schema expects a list', () => {
  const input: Record<string, unknown> = { it: '7', words: ['a', '1'] }
  const list = (type: string) => ({ type: 'array', items: { type } })
  coerceText(input, { it: list('integer'), words: list('string'), absent: list('string') })
  expect(input).toEqual({ it: [7], words: ['a', '1'] })
})

test('a missing parameter is not added, and an undeclared one is ignored', () => {
  const input: Record<string, unknown> = { other: '1' }
  coerceText(input, { it: { type: 'integer' } })
  expect(input).toEqual({ other: '1' })
})
