/** The check of function lengths counts as it says. */
import { expect, test } from 'vitest'
import { functionsOf } from '../../../scripts/check/function-lengths.ts'

const lengthsOf = (...lines: string[]) =>
  functionsOf('some.ts', lines.join('\n')).map(({ name, own, all }) => [name, own, all])

test('lines of a function inside are not its own, but among all', () => {
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

test('one that stands within a line takes none away', () => {
  expect(
    lengthsOf('const f = (list: number[]) => {', '  return list.map((n) => n + 1)', '}'),
  ).toEqual([
    ['f', 3, 3],
    ['(anonymous)', 1, 1],
  ])
})

test('operations are data, whatever they hold', () => {
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

test('methods and getters are functions, declarations without a body are none', () => {
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
