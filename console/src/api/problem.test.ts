import { expect, test } from 'vitest'
import { ApiError, problemOf, readRetryAfter, retryDelayOf } from './problem.ts'

const NOW = Date.parse('2026-11-21T08:30:00Z')

test('the console reads the code, the request ID and the retry delay of an error response', async () => {
  const refusal = Response.json(
    { detail: 'Too many requests', code: 'too_many_requests' },
    { status: 429, headers: { 'retry-after': '27', 'x-request-id': 'r-1' } },
  )
  expect(await problemOf(refusal)).toMatchObject({
    status: 429,
    code: 'too_many_requests',
    detail: 'Too many requests',
    retryAfter: 27,
    requestId: 'r-1',
    issues: [],
  })
})

test('the console reads the validation errors of a response and skips malformed ones', async () => {
  const fault = { loc: ['body', 'email'], msg: 'Field required', type: 'missing' }
  const refusal = Response.json({ detail: [fault, null, { loc: 'x' }] }, { status: 422 })
  expect((await problemOf(refusal)).issues).toEqual([
    { loc: ['body', 'email'], msg: 'Field required' },
  ])
})

test.each(['', '<h1>Bad gateway</h1>', 'null', '[]', '{"detail": 7}'])(
  'the console returns an error for a response with the body %j',
  async (body) => {
    const problem = await problemOf(new Response(body, { status: 502 }))
    expect(problem).toMatchObject({ status: 502, detail: 'HTTP 502', isUnreachable: true })
  },
)

test.each([
  ['27', 27],
  ['Sat, 21 Nov 2026 08:30:10 GMT', 10],
  ['Sat, 21 Nov 2026 08:00:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  [null, undefined],
])('the console reads the Retry-After value %j as %j seconds', (header, seconds) => {
  expect(readRetryAfter(header, NOW)).toBe(seconds)
})

test('the console waits at most 30 s before retrying an unavailable service', () => {
  const wait = (retryAfter?: number) =>
    retryDelayOf(new ApiError({ status: 503, detail: '', retryAfter }))
  expect([wait(), wait(0), wait(1), wait(3600)]).toEqual([5, 1, 1, 30])
})

test('the console waits until the rate limit ends, however long that takes', () => {
  expect(retryDelayOf(new ApiError({ status: 429, detail: '', retryAfter: 3600 }))).toBe(3600)
})

test.each([
  [0, true],
  [401, false],
  [404, false],
  [429, true],
  [500, false],
  [502, true],
  [503, true],
  [504, true],
])(
  'the console decides whether a request may succeed later after the status %i: %j',
  (status, isPassing) => {
    expect(new ApiError({ status, detail: '' }).isPassing).toBe(isPassing)
  },
)
