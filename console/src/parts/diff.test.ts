import { expect, test } from 'vitest'
import { diffFields, linesOf } from './diff.ts'

test('the list of changes starts with changed fields, and treats absent and null as empty', () => {
  const diffs = diffFields(
    { name: 'Ada', role: 'nurse', phone: null },
    { name: 'Ada', role: 'doctor' },
  )
  expect(diffs.map(({ field, isChanged }) => [field, isChanged])).toEqual([
    ['role', true],
    ['name', false],
    ['phone', false],
  ])
})

test('the list of changes writes lists and objects line by line', () => {
  expect(linesOf(['a', 'b'])).toEqual(['a', 'b'])
  expect(linesOf({ registration: 'open', listed: false })).toEqual([
    'registration: open',
    'listed: no',
  ])
  expect(linesOf({ nested: { deep: 1 } })).toEqual(['nested: {"deep":1}'])
})

test('the list of changes shows 0 and false as values, not as empty', () => {
  expect(linesOf(0)).toEqual(['0'])
  expect(linesOf(false)).toEqual(['no'])
  expect(linesOf('')).toEqual([])
})
