/** What text may come in, and how deep it may lie. */
import { describe, expect, test } from 'vitest'
import { DEEPEST, depthOf, isStorable, unstorablePaths } from './text.ts'

const nested = (levels: number): unknown => {
  let value: unknown = 'core'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

describe('text', () => {
  test.each(['', 'plain', 'Zoë 漢字 👩‍⚕️', '\u0001\u001f\uffff', '\u{10ffff}'])(
    '%j can be stored',
    (text) => {
      expect(isStorable(text)).toBe(true)
    },
  )

  test.each(['\0', 'a\0b', '\ud800', 'x\udfffy', '\udc00\ud800'])('%j cannot', (text) => {
    expect(isStorable(text)).toBe(false)
  })
})

describe('the paths of what cannot be stored', () => {
  test('lead to every string and every key', () => {
    const value = { a: 'ok', b: ['ok', 'x\0'], c: { d: '\ud800', 'e\0': 'ok' }, f: 1, g: null }
    expect(unstorablePaths(value)).toEqual([
      ['b', '1'],
      ['c', 'd'],
      ['c', '[key]'],
    ])
  })

  test('are none for a value that is right, whatever its type', () => {
    for (const value of [null, undefined, 1, true, 'x', [], {}, { a: [{ b: 'c' }] }])
      expect(unstorablePaths(value)).toEqual([])
  })

  test('end where the nesting is too deep, instead of ending the stack', () => {
    expect(unstorablePaths(nested(DEEPEST))).toEqual([])
    expect(unstorablePaths(nested(100_000))).toHaveLength(1)
    expect(unstorablePaths(nested(100_000))[0]).toHaveLength(DEEPEST + 1)
  })
})

describe('the depth of a value', () => {
  test.each([
    ['x', 0],
    [null, 0],
    [[], 1],
    [{}, 1],
    [[[], [[1]]], 3],
    [{ a: { b: {} }, c: 1 }, 3],
  ])('%j is %i', (value, depth) => {
    expect(depthOf(value, 100)).toBe(depth)
  })

  test('is counted no further than the limit', () => {
    expect(depthOf(nested(100_000), 33)).toBe(33)
    expect(depthOf(nested(32), 33)).toBe(32)
  })
})
