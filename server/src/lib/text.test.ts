/** Tests which text can be stored in the database, and the maximum depth of values. */
import { describe, expect, test } from 'vitest'
import { inspect, isStorable } from './text.ts'

const nested = (levels: number): unknown => {
  let value: unknown = 'core'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}
const unstorable = (value: unknown) => inspect(value, 100).unstorable

describe('the check for text that PostgreSQL can store', () => {
  test.each(['', 'plain', 'Zoë 漢字 👩‍⚕️', '\u0001\u001f\uffff', '\u{10ffff}'])(
    'accepts %j',
    (text) => {
      expect(isStorable(text)).toBe(true)
    },
  )

  test.each(['\0', 'a\0b', '\ud800', 'x\udfffy', '\udc00\ud800'])('rejects %j', (text) => {
    expect(isStorable(text)).toBe(false)
  })
})

describe('the paths to texts that PostgreSQL cannot store', () => {
  test('include every such value and every such key', () => {
    const value = { a: 'ok', b: ['ok', 'x\0'], c: { d: '\ud800', 'e\0': 'ok' }, f: 1, g: null }
    expect(unstorable(value)).toEqual([
      ['b', '1'],
      ['c', 'd'],
      ['c', '[key]'],
    ])
  })

  test('include positions in lists, and skip other types of values', () => {
    const value = [1, null, 'ok', { a: '\0' }, [['\0']], true, '\ud800']
    expect(unstorable(value)).toEqual([['3', 'a'], ['4', '0', '0'], ['6']])
  })

  test('are empty if all texts can be stored', () => {
    for (const value of [null, undefined, 1, true, 'x', [], {}, { a: [{ b: 'c' }] }])
      expect(unstorable(value)).toEqual([])
  })

  test('are limited to twenty, each with steps of at most sixty characters', () => {
    const paths = unstorable({ ['k'.repeat(2000)]: Array.from({ length: 1000 }, () => '\0') })
    expect(paths).toHaveLength(20)
    expect(paths.at(-1)).toEqual(['k'.repeat(60), '19'])
  })

  test('are complete after the twentieth, without further reading', () => {
    let looks = 0
    const list = Array.from({ length: 1000 }, () => '\0')
    const watched = new Proxy(list, {
      get(target, key) {
        if (key !== 'length') looks += 1
        return Reflect.get(target, key)
      },
    })
    expect(unstorable(watched)).toHaveLength(20)
    expect(looks).toBe(20)
  })
})

describe('the nesting depth of a value', () => {
  test.each([
    ['x', 0],
    [null, 0],
    [[], 1],
    [{}, 1],
    [[[], [[1]]], 3],
    [{ a: { b: {} }, c: 1 }, 3],
  ])('of %j is %i', (value, depth) => {
    expect(inspect(value, depth).isTooDeep).toBe(false)
    if (depth > 0) expect(inspect(value, depth - 1).isTooDeep).toBe(true)
  })

  test('is measured only down to the limit', () => {
    expect(inspect(nested(100_000), 32)).toMatchObject({ isTooDeep: true, unstorable: [] })
  })
})

test('the service counts the digits that PostgreSQL adds when it writes numbers, at any depth', () => {
  const longer = (value: unknown) => inspect(value, 32).digitsBeyondJson
  expect(longer(1e308)).toBe(303)
  expect(longer({ a: 1e308, b: [1e308, 1, '1e308', [{ c: 1e308 }]], d: null })).toBe(3 * 303)
})
