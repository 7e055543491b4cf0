import { expect, test } from 'vitest'
import { readIds } from './data.ts'

test.each([
  ['7', [7]],
  [' 7, 8;9\n10 ', [7, 8, 9, 10]],
  ['', undefined],
  [' , ', undefined],
  ['7, x', undefined],
  ['0', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['9'.repeat(16), undefined],
  ['1 '.repeat(1_001), undefined],
])('the ids in %j are read as %j', (text, ids) => {
  expect(readIds(text)).toEqual(ids)
})
