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

test('chooses and releases a row', () => {
  const chosen = toggleRow(EMPTY_SELECTION, 'b', page)
  expect(idsOf(chosen)).toEqual(['b'])
  expect(idsOf(toggleRow(chosen, 'b', page))).toEqual([])
})

test('chooses a range from the row chosen last, in both directions', () => {
  const chosen = toggleRow(EMPTY_SELECTION, 'c', page)
  expect(idsOf(selectRange(chosen, 'a', page))).toEqual(['a', 'b', 'c'])
  expect(idsOf(selectRange(chosen, 'd', page))).toEqual(['c', 'd'])
})

test('chooses a single row when a range has no beginning', () => {
  expect(idsOf(selectRange(EMPTY_SELECTION, 'c', page))).toEqual(['c'])
})

test('chooses a page beside rows of other pages, and releases only the page', () => {
  const chosen = togglePage(toggleRow(EMPTY_SELECTION, 'z', page), page)
  expect(isPageSelected(chosen, page)).toBe(true)
  expect(selectedCount(chosen, 312)).toBe(5)
  expect(idsOf(togglePage(chosen, page))).toEqual(['z'])
})

test('counts all that match, and keeps the rest of the page when one row is released', () => {
  expect(selectedCount(ALL_SELECTED, 312)).toBe(312)
  expect(idsOf(toggleRow(ALL_SELECTED, 'a', page))).toEqual(['b', 'c', 'd'])
})

test('never reports an empty page as chosen', () => {
  expect(isPageSelected(EMPTY_SELECTION, [])).toBe(false)
})
