/** What the driver's errors mean for the caller. */
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { PROBLEMS } from '../../lib/problems.ts'
import { isKeyGone, isPassing, isRetryable, isUndone, Outpaced, problemOf } from './failures.ts'

const CONFLICTS = { users__email: 'email_taken', tenants__subdomain: 'subdomain_taken' } as const

const thrown = (fields: object, message = 'x') => Object.assign(new Error(message), fields)

describe('a broken constraint', () => {
  test.each([
    ['23505', 'users__email', 'email_taken'],
    ['23505', 'tenants__subdomain', 'subdomain_taken'],
    ['23505', 'one_of_tomorrow', 'conflict'],
    ['23503', 'users__department', 'conflict'],
    ['23505', undefined, 'conflict'],
  ])('%s of %s is the conflict %s', (code, constraint, problem) => {
    const error = thrown({ code, constraint })
    expect(problemOf(error, CONFLICTS)).toMatchObject({ code: problem, status: 409, cause: error })
  })
})

describe('a database that is away', () => {
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
  ])('by the code %s is a 503 with Retry-After', (code) => {
    expect(problemOf(thrown({ code }))).toMatchObject({ code: 'database_away', retryAfter: 2 })
  })

  test.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'timeout exceeded when trying to connect',
    'Query read timeout',
  ])('by the words "%s" is a 503 with Retry-After', (message) => {
    expect(problemOf(thrown({}, message))).toMatchObject({ status: 503, retryAfter: 2 })
  })
})

describe('a server that cannot write', () => {
  test.each(['53000', '53100', '53200', '58000', '58030', '25006'])(
    'by the code %s is a 503 with Retry-After, and nothing has happened',
    (code) => {
      const error = Object.assign(new pg.DatabaseError('x', 1, 'error'), { code })
      expect(problemOf(error)).toMatchObject({ code: 'database_away', status: 503, retryAfter: 2 })
      expect(isPassing(error)).toBe(true)
      expect(isUndone(error)).toBe(true)
    },
  )
})

describe('a lost race', () => {
  test.each(['40P01', '40001'])(
    '%s may be run again, and asks for patience when it may no more',
    (code) => {
      expect(isRetryable(thrown({ code }))).toBe(true)
      expect(problemOf(thrown({ code }))).toMatchObject({ code: 'busy', status: 503 })
    },
  )

  test('against a change of the tables may be run again; what is not supported at all may not', () => {
    const outdated = thrown({ code: '0A000' }, 'cached plan must not change result type')
    expect(isRetryable(outdated)).toBe(true)
    expect(problemOf(outdated)).toMatchObject({ code: 'busy', status: 503 })
    expect(isRetryable(thrown({ code: '0A000' }, 'not supported'))).toBe(false)
  })

  test('against the end of a data key, or what was known from memory, may be run again', () => {
    const gone = thrown({ code: '23503', constraint: 'second_factors__data_key' })
    for (const error of [gone, new Outpaced('a key is not known yet')]) {
      expect(isRetryable(error)).toBe(true)
      expect(problemOf(error)).toMatchObject({ code: 'busy', status: 503 })
    }
    expect([isKeyGone(gone), isKeyGone(new Outpaced('x'))]).toEqual([true, false])
    expect(isKeyGone(thrown({ code: '23503', constraint: 'users__department' }))).toBe(false)
  })

  test('for a lock asks for patience, and is not run again', () => {
    expect(isRetryable(thrown({ code: '55P03' }))).toBe(false)
    expect(problemOf(thrown({ code: '55P03' }))).toMatchObject({ code: 'busy', status: 503 })
  })
})

test('a statement that took too long asks for patience and for less, and is not run again', () => {
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
])('a bug of ours stays one: %s', (error) => {
  expect(problemOf(error)).toBeUndefined()
})

test('what the caller is told holds nothing of the driver', () => {
  const error = thrown(
    { code: '23505', constraint: 'users__email', detail: 'Key (email)=(a@b.c) already exists.' },
    'duplicate key value violates unique constraint "users__email"',
  )
  expect(problemOf(error, CONFLICTS)?.message).toBe(PROBLEMS.email_taken[1])
})
