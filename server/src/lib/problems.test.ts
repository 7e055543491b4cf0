import { expect, test } from 'vitest'
import { orNotFound } from './problems.ts'

test('returns a row that exists', () => {
  const row = { id: 1 }
  expect(orNotFound(row, 'user')).toBe(row)
})

test('answers 404 with the kind of a missing record', () => {
  expect(() => orNotFound(undefined, 'user')).toThrow(
    expect.objectContaining({ status: 404, code: 'not_found', message: 'No such user' }),
  )
})
