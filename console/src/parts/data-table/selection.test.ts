import { expect, test } from 'vitest'
import {
  ALL_SELECTED,
  EMPTY_SELECTION,
  isPageSelected,
  selectedCount,
  selectRange,
  togglePage,
  toggleRow,
} from './selection.ts'

const page = ['a', 'b', 'c', 'd']

const idsOf = (selection: ReturnType<typeof toggleRow>): string[] =>
  selection.kind === 'all' ? ['all'] : [...selection.ids].sort()

test('a table selects and deselects a row', () => {
  const chosen = toggleRow(EMPTY_SELECTION, 'b', page)
  expect(idsOf(chosen)).toEqual(['b'])
  expect(idsOf(toggleRow(chosen, 'b', page))).toEqual([])
})

test('a table selects a range that starts at the row selected last, in both directions', () => {
  const chosen = toggleRow(EMPTY_SELECTION, 'c', page)
  expect(idsOf(selectRange(chosen, 'a', page))).toEqual(['a', 'b', 'c'])
  expect(idsOf(selectRange(chosen, 'd', page))).toEqual(['c', 'd'])
})

test('a table selects a single row if the range has no start', () => {
  expect(idsOf(selectRange(EMPTY_SELECTION, 'c', page))).toEqual(['c'])
})

test('a table selects a page in addition to rows of other pages, and deselects only that page', () => {
  const chosen = togglePage(toggleRow(EMPTY_SELECTION, 'z', page), page)
  expect(isPageSelected(chosen, page)).toBe(true)
  expect(selectedCount(chosen, 312)).toBe(5)
  expect(idsOf(togglePage(chosen, page))).toEqual(['z'])
})

test('a table counts all matches when everything is selected, and keeps the rest of the page when one row is deselected', () => {
  expect(selectedCount(ALL_SELECTED, 312)).toBe(312)
  expect(idsOf(toggleRow(ALL_SELECTED, 'a', page))).toEqual(['b', 'c', 'd'])
})

test('a table never reports an empty page as completely selected', () => {
  expect(isPageSelected(EMPTY_SELECTION, [])).toBe(false)
})
