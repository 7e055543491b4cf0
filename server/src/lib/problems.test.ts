import { expect, test } from 'vitest'
import { orNotFound } from './problems.ts'

test('a row that is there is returned as it is', () => {
  const row = { id: 1 }
  expect(orNotFound(row, 'user')).toBe(row)
})

test('one that is not there is a 404 that names its kind', () => {
  expect(() => orNotFound(undefined, 'user')).toThrow(
    expect.objectContaining({ status: 404, code: 'not_found', message: 'There is no such user' }),
  )
})
