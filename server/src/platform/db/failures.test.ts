/** How errors of the driver are interpreted for the caller. */
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { PROBLEMS } from '../../lib/problems.ts'
import { DatabaseTimeout } from './deadline.ts'
import {
  isDatabaseFailure,
  isKeyGone,
  isPassing,
  isRetryable,
  isUndone,
  Outpaced,
  problemOf,
} from './failures.ts'
import { DatabaseSilent } from './silence.ts'

const CONFLICTS = { users__email: 'email_taken', tenants__subdomain: 'subdomain_taken' } as const

const thrown = (fields: object, message = 'x') => Object.assign(new Error(message), fields)

describe('an error for a violated constraint', () => {
  test.each([
    ['23505', 'users__email', 'email_taken'],
    ['23505', 'tenants__subdomain', 'subdomain_taken'],
    ['23505', 'one_of_tomorrow', 'conflict'],
    ['23503', 'users__department', 'conflict'],
    ['23505', undefined, 'conflict'],
  ])('with code %s on %s becomes the conflict %s', (code, constraint, problem) => {
    const error = thrown({ code, constraint })
    expect(problemOf(error, CONFLICTS)).toMatchObject({ code: problem, status: 409, cause: error })
  })
})

describe('an error of an unreachable database', () => {
  test.each([
    '08000',
    '08006',
    '08P01',
    '57P01',
    '57P02',
    '57P03',
    '53300',
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ENOENT',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENOTFOUND',
    'EAI_AGAIN',
  ])('with the code %s becomes a 503 with Retry-After', (code) => {
    expect(problemOf(thrown({ code }))).toMatchObject({ code: 'database_away', retryAfter: 2 })
  })

  test.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'timeout exceeded when trying to connect',
    'timeout expired',
    'Query read timeout',
  ])('with the message "%s" becomes a 503 with Retry-After', (message) => {
    expect(problemOf(thrown({}, message))).toMatchObject({ status: 503, retryAfter: 2 })
  })

  test.each([new DatabaseTimeout('late'), new DatabaseSilent()])(
    'becomes a 503 with Retry-After after %s',
    (error) => {
      expect(problemOf(error)).toMatchObject({ code: 'database_away', retryAfter: 2 })
      expect(isDatabaseFailure(new Error('a job failed', { cause: error }))).toBe(true)
    },
  )
})

describe('an error of a database that cannot write', () => {
  test.each(['53000', '53100', '53200', '58000', '58030', '25006'])(
    'with the code %s becomes a 503 with Retry-After, and nothing was written',
    (code) => {
      const error = Object.assign(new pg.DatabaseError('x', 1, 'error'), { code })
      expect(problemOf(error)).toMatchObject({ code: 'database_away', status: 503, retryAfter: 2 })
      expect(isPassing(error)).toBe(true)
      expect(isUndone(error)).toBe(true)
    },
  )
})

describe('an error of a transaction that lost a race', () => {
  test.each(['40P01', '40001'])(
    'with code %s is retryable, and becomes "busy" after the last retry',
    (code) => {
      expect(isRetryable(thrown({ code }))).toBe(true)
      expect(problemOf(thrown({ code }))).toMatchObject({ code: 'busy', status: 503 })
    },
  )

  test('with a concurrent table change is retryable, but an unsupported feature is not', () => {
    const outdated = thrown({ code: '0A000' }, 'cached plan must not change result type')
    expect(isRetryable(outdated)).toBe(true)
    expect(problemOf(outdated)).toMatchObject({ code: 'busy', status: 503 })
    expect(isRetryable(thrown({ code: '0A000' }, 'not supported'))).toBe(false)
  })

  test('with a deleted data key or outdated cached values is retryable', () => {
    const gone = thrown({ code: '23503', constraint: 'second_factors__data_key' })
    for (const error of [gone, new Outpaced('a key is not known yet')]) {
      expect(isRetryable(error)).toBe(true)
      expect(problemOf(error)).toMatchObject({ code: 'busy', status: 503 })
    }
    expect([isKeyGone(gone), isKeyGone(new Outpaced('x'))]).toEqual([true, false])
    expect(isKeyGone(thrown({ code: '23503', constraint: 'users__department' }))).toBe(false)
  })

  test('while waiting for a lock becomes "busy", and is not retryable', () => {
    expect(isRetryable(thrown({ code: '55P03' }))).toBe(false)
    expect(problemOf(thrown({ code: '55P03' }))).toMatchObject({ code: 'busy', status: 503 })
  })
})

test('the service asks the caller to narrow a query that timed out, and does not retry the query', () => {
  const error = thrown({ code: '57014' }, 'canceling statement due to statement timeout')
  expect(isRetryable(error)).toBe(false)
  expect(problemOf(error)).toMatchObject({ code: 'busy', status: 503, retryAfter: 1 })
  expect(problemOf(error)?.message).toMatch(/took too long.*filters/)
})

test.each([
  thrown({ code: '42P01' }),
  thrown({ code: '42501' }),
  thrown({ code: '23502', constraint: 'x' }),
  thrown({ code: '108006' }),
  new TypeError('Cannot read properties of undefined'),
])('problemOf() returns undefined for an unexpected error: %s', (error) => {
  expect(problemOf(error)).toBeUndefined()
})

test('the service hides the details of a driver error from the caller', () => {
  const error = thrown(
    { code: '23505', constraint: 'users__email', detail: 'Key (email)=(a@b.c) already exists.' },
    'duplicate key value violates unique constraint "users__email"',
  )
  expect(problemOf(error, CONFLICTS)?.message).toBe(PROBLEMS.email_taken[1])
})
