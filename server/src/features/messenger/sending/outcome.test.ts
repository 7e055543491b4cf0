/** Tests which outcome each response of the provider has for a message and its chat. */
import { expect, test } from 'vitest'
import { judge } from './outcome.ts'

const of = (code: number, description = '', retryAfter?: number) =>
  judge({ code, description, retryAfter })

test.each([
  [403, 'Forbidden: bot was blocked by the user', { kind: 'gone', reason: 'blocked' }],
  [403, 'Forbidden: user is deactivated', { kind: 'gone', reason: 'deactivated' }],
  [403, "Forbidden: bot can't initiate conversation with a user", { kind: 'refused' }],
  [400, 'Bad Request: chat not found', { kind: 'refused' }],
  [400, 'Bad Request: message text is empty', { kind: 'unsendable' }],
  [401, 'Unauthorized', { kind: 'token refused' }],
  [404, 'Not Found', { kind: 'token refused' }],
  [409, 'Conflict', { kind: 'failed' }],
  [500, 'Internal Server Error', { kind: 'failed' }],
  [502, 'Bad Gateway', { kind: 'failed' }],
])('the bot maps %i %s to its outcome', (code, description, outcome) => {
  expect(of(code, description)).toEqual(outcome)
})

test('the bot pauses the chat after 429 for the requested time, or for 5 s if no time is given', () => {
  expect(of(429, 'Too Many Requests', 4711)).toEqual({ kind: 'limited', retryMs: 4_711_000 })
  expect(of(429, 'Too Many Requests')).toEqual({ kind: 'limited', retryMs: 5000 })
})

test('the bot treats an unreadable response as a failure', () => {
  expect(judge(null)).toEqual({ kind: 'failed' })
})
