import { expect, test } from 'vitest'
import { nextPosition, previousPosition, rowRange } from './paging.ts'

const info = (page: number, next: string | null = 'cursor') => ({
  page,
  limit: 20,
  total: 50_000,
  next,
})

test('the paging of a table uses page numbers up to the limit of the API, and cursors after that', () => {
  expect(nextPosition({}, info(1))).toEqual({ page: 2 })
  expect(nextPosition({ page: 499 }, info(499))).toEqual({ page: 500 })
  expect(nextPosition({ page: 500 }, info(500))).toEqual({ after: 'cursor' })
  expect(nextPosition({ after: 'other' }, info(1))).toEqual({ after: 'cursor' })
})

test('the paging of a table has no next page after the last one', () => {
  expect(nextPosition({ page: 3 }, info(3, null))).toBeUndefined()
})

test('the paging of a table goes back by one page number, or from a cursor to the first page', () => {
  expect(previousPosition({}, info(1))).toBeUndefined()
  expect(previousPosition({ page: 2 }, info(2))).toEqual({})
  expect(previousPosition({ page: 3 }, info(3))).toEqual({ page: 2 })
  expect(previousPosition({ after: 'cursor' }, info(1))).toEqual({})
})

test('the paging of a table returns the row numbers of a numbered page, and none for a page after a cursor', () => {
  expect(rowRange({ page: 3 }, info(3), 7)).toEqual({ first: 41, last: 47 })
  expect(rowRange({ after: 'cursor' }, info(1), 20)).toBeUndefined()
  expect(rowRange({}, info(1), 0)).toBeUndefined()
})
