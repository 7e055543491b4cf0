import { expect, test } from 'vitest'
import { ApiError } from '../api/problem.ts'
import { failureSentence, troubleOf, troubleOfError } from './form-faults.ts'

const FIELDS = new Set(['email', 'new_password'])

test('a form shows validation errors next to their fields, in the order of the form', () => {
  const error = new ApiError({
    status: 422,
    detail: 'HTTP 422',
    requestId: 'r-1',
    issues: [
      { loc: ['body', 'new_password'], msg: 'Value error, too common' },
      { loc: ['body', 'email'], msg: 'Field required' },
    ],
  })
  expect(troubleOf(error, FIELDS)).toEqual({
    message: undefined,
    requestId: 'r-1',
    faults: [
      { field: 'email', message: 'Field required.' },
      { field: 'new_password', message: 'Too common.' },
    ],
  })
})

test('a form shows validation errors of unknown fields above the form', () => {
  const issues = [{ loc: ['query', 'token'], msg: 'Field required' }]
  const error = new ApiError({ status: 422, detail: 'HTTP 422', issues })
  expect(troubleOf(error, FIELDS)).toMatchObject({ message: 'Field required.', faults: [] })
})

test('a form shows a countdown after too many attempts', () => {
  const error = new ApiError({ status: 429, detail: 'Too many requests', retryAfter: 30 })
  const { waitUntil, message } = troubleOf(error, FIELDS)
  expect(message).toBe('Too many attempts.')
  expect(waitUntil).toBeGreaterThan(Date.now() + 29_000)
})

test('a form names the connection as the cause if the service does not respond', () => {
  const error = new ApiError({ status: 0, detail: '' })
  expect(troubleOf(error, FIELDS).message).toContain('Check your connection')
})

test('a form shows the request ID of a server error, and hides its detail', () => {
  const error = new ApiError({ status: 500, detail: 'Internal error', requestId: 'r-2' })
  expect(troubleOf(error, FIELDS)).toMatchObject({
    message: 'Something went wrong. Try again.',
    requestId: 'r-2',
  })
})

test('an error message explains why an action without a form failed', () => {
  const refused = new ApiError({ status: 409, detail: 'already decided', requestId: 'r-2' })
  expect(troubleOfError(refused)).toEqual({
    message: 'Already decided.',
    faults: [],
    requestId: 'r-2',
  })
  expect(troubleOfError(new TypeError('broken'))).toEqual({
    message: 'Something went wrong. Try again.',
    faults: [],
  })
  expect(troubleOfError(null)).toBeUndefined()
})

test.each([429, 503])('a form says how long to wait after a response %i', (status) => {
  const error = new ApiError({ status, detail: '', retryAfter: 40 })
  expect(troubleOfError(error)).toMatchObject({ waitUntil: error.receivedAt + 40_000 })
})

test('an error message explains in one paragraph why an action failed', () => {
  const taken = new ApiError({ status: 409, detail: 'name taken', requestId: 'r-3' })
  expect(failureSentence(taken)).toBe('Name taken. Request r-3.')
  const limited = new ApiError({ status: 429, detail: '', retryAfter: 40 })
  expect(failureSentence(limited)).toBe('Too many attempts. Try again in 40 seconds.')
})
