/** The check of function lengths counts lines as documented. */
import { expect, test } from 'vitest'
import { functionsOf } from '../../../scripts/check/function-lengths.ts'

const lengthsOf = (...lines: string[]) =>
  functionsOf('some.ts', lines.join('\n')).map(({ name, own, all }) => [name, own, all])

test('the length check counts lines of a nested function for that function and in the total, not for the outer function', () => {
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

test('the length check counts a nested function of a single line for the outer function', () => {
  expect(
    lengthsOf('const f = (list: number[]) => {', '  return list.map((n) => n + 1)', '}'),
  ).toEqual([
    ['f', 3, 3],
    ['(anonymous)', 1, 1],
  ])
})

test('the length check treats operation definitions as data, including the functions in them', () => {
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

test('the length check includes methods and getters, but no declarations without a body', () => {
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
