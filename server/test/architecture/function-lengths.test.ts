/** The check of function lengths counts lines as documented. */
import { expect, test } from 'vitest'
import { functionsOf } from '../../../scripts/check/function-lengths.ts'

const lengthsOf = (...lines: string[]) =>
  functionsOf('some.ts', lines.join('\n')).map(({ name, own, all }) => [name, own, all])

test('lines of a nested function count only for that function, but also in the total', () => {
  const lengths = lengthsOf(
    'function outer() {',
    '  const inner = () => {',
    '    deepest(function () {',
    '      return 1',
    '    })',
    '  }',
    '  return inner',
    '}',
  )
  expect(lengths).toEqual([
    ['outer', 3, 8],
    ['inner', 2, 5],
    ['(anonymous)', 3, 3],
  ])
})

test('a nested function that fits in one line counts for the outer function', () => {
  expect(
    lengthsOf('const f = (list: number[]) => {', '  return list.map((n) => n + 1)', '}'),
  ).toEqual([
    ['f', 3, 3],
    ['(anonymous)', 1, 1],
  ])
})

test('operation definitions count as data, with all that they contain', () => {
  const lengths = lengthsOf(
    'function table() {',
    '  return [',
    '    operation({',
    "      method: 'GET',",
    '      handle: () => 1,',
    '    }),',
    '  ]',
    '}',
  )
  expect(lengths).toEqual([['table', 4, 4]])
})

test('methods and getters count as functions, but declarations without a body do not', () => {
  const lengths = lengthsOf(
    'export interface Service { get(): number }',
    'const service = {',
    '  get() {',
    '    return 1',
    '  },',
    '}',
  )
  expect(lengths).toEqual([['get', 3, 3]])
})
