import { expect, test } from 'vitest'
import { orNotFound } from './problems.ts'

test('the lookup of a record returns the row if it exists', () => {
  const row = { id: 1 }
  expect(orNotFound(row, 'user')).toBe(row)
})

test('the lookup of a record throws a 404 error with the kind of record if the row is missing', () => {
  expect(() => orNotFound(undefined, 'user')).toThrow(
    expect.objectContaining({ status: 404, code: 'not_found', message: 'No such user' }),
  )
})
