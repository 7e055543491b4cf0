/** Tests which bodies are accepted as paygate notices, and which statuses the notices claim. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Problem } from '../../../lib/problems.ts'
import { hintIn, paygateNoticeIn } from './notice.ts'

const bytes = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

const nested = (levels: number) =>
  `{"event":"payment.x","object":{"id":"x"},"y":${'['.repeat(levels)}${']'.repeat(levels)}}`

const SUCCEEDED = {
  type: 'notification',
  event: 'payment.succeeded',
  object: { id: '2b-A_9', status: 'succeeded', amount: { value: '1.00', currency: 'EUR' } },
}

describe('a paygate notification', () => {
  test("has a key of the event, the object's id and the object's status", () => {
    expect(paygateNoticeIn(bytes(SUCCEEDED))).toEqual({
      provider: 'paygate',
      event_key: '["payment.succeeded","2b-A_9","succeeded"]',
      type: 'payment.succeeded',
      provider_payment_id: '2b-A_9',
    })
  })

  test("contains the payment's id if it is about a refund", () => {
    const refund = { event: 'refund.succeeded', object: { id: 'r1', payment_id: 'p1' } }
    expect(paygateNoticeIn(bytes(refund))).toMatchObject({
      event_key: '["refund.succeeded","r1",""]',
      provider_payment_id: 'p1',
    })
  })

  test.each([
    ['of another type', { event: 'payout.succeeded', object: { id: 'x' } }, null],
    ['with a status that is not text', { event: 'payment.x', object: { id: 'x', status: 7 } }, 'x'],
    ['with an id that is unsafe in a path', { event: 'payment.x', object: { id: '../x' } }, '../x'],
    ['with unknown fields', { ...SUCCEEDED, __proto__x: 1, extra: {} }, '2b-A_9'],
    ['with 100,000 numbers', { ...SUCCEEDED, x: Array(100_000).fill(1) }, '2b-A_9'],
    ['with a number that overflows', `{"x":1e999,${JSON.stringify(SUCCEEDED).slice(1)}`, '2b-A_9'],
    ['with a duplicate key', '{"event":"payment.x","object":1,"object":{"id":"y"}}', 'y'],
    ['with moderate nesting', nested(500), 'x'],
    ['with brackets in a text', { ...SUCCEEDED, x: `\\"${'['.repeat(5_000)}` }, '2b-A_9'],
  ])('is accepted if it is unusual: %s', (_what, body, provider_payment_id) => {
    expect(paygateNoticeIn(bytes(body))).toMatchObject({ provider_payment_id })
  })

  test.each([
    ['no body', ''],
    ['invalid JSON', '{'],
    ['invalid UTF-8', Buffer.from('{"event":"payment.x","object":{"id":"\xe9"}}', 'latin1')],
    ['a list', [SUCCEEDED]],
    ['null', null],
    ['no event', { object: { id: 'x' } }],
    ['an empty event', { event: '', object: { id: 'x' } }],
    ['an event that is not text', { event: 1, object: { id: 'x' } }],
    ['an event that is long', { event: 'x'.repeat(65), object: { id: 'x' } }],
    ['no object', { event: 'payment.x' }],
    ['an object that is a list', { event: 'payment.x', object: [{ id: 'x' }] }],
    ['no id', { event: 'payment.x', object: {} }],
    ['an empty id', { event: 'payment.x', object: { id: '' } }],
    ['an id that is a number', { event: 'payment.x', object: { id: 7 } }],
    ['an id that is long', { event: 'payment.x', object: { id: 'x'.repeat(256) } }],
    ['a NUL in the id', { event: 'payment.x', object: { id: 'a\0b' } }],
    ['a lone surrogate in the id', '{"event":"payment.x","object":{"id":"\\ud800"}}'],
    ['an inherited property', '{"event":"payment.x","__proto__":{"object":{"id":"x"}}}'],
    ['an object that is a number', { event: 'payment.x', object: 7 }],
    ['a number', 7],
    ['deep nesting beside valid fields', nested(100_000)],
    ['deep nesting', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
  ])('is rejected with 400: %s', (_what, body) => {
    const sent = Buffer.isBuffer(body) ? body : bytes(body)
    expect(() => paygateNoticeIn(sent)).toThrow(
      expect.objectContaining({ code: 'notification_unreadable', status: 400 }),
    )
    expect(() => paygateNoticeIn(sent)).toThrow(Problem)
    expect(hintIn(sent)).toBeUndefined()
  })

  test('is parsed without a JSON reviver, which would run once for each number', () => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    const body = bytes({ ...SUCCEEDED, x: [1, 1, 1] })
    paygateNoticeIn(body)
    hintIn(body)
    expect(parse.mock.calls).toEqual([[body.toString()], [body.toString()]])
  })

  test('always has a key that fits into a database index', () => {
    const object = { id: '\u0001'.repeat(255), status: '\u0001'.repeat(64) }
    const { event_key } = paygateNoticeIn(bytes({ event: '\u0001'.repeat(64), object }))
    // PostgreSQL limits the size of an entry in a B-tree index.
    expect(Buffer.byteLength(event_key)).toBeLessThan(2_700)
  })
})

describe('the hint in a paygate notification', () => {
  const hint = (event: string, status?: unknown) =>
    hintIn(bytes({ event, object: { id: 'x', status } }))

  test.each([
    ['payment.succeeded', 'succeeded', 'payment', ['succeeded', 'succeeded']],
    ['payment.waiting_for_capture', undefined, 'payment', ['waiting_for_capture']],
    ['payment.succeeded', 'pending', 'payment', ['succeeded', 'pending']],
    ['payment.something', 'new', 'other', []],
    ['refund.succeeded', 'succeeded', 'refund', ['succeeded', 'succeeded']],
    ['payout.succeeded', 'succeeded', 'other', ['succeeded', 'succeeded']],
    ['payment_method.active', undefined, 'other', []],
  ])('is read from the event %s with the status %s as: %s', (event, status, about, claims) => {
    expect(hint(event, status)).toEqual({ about, id: 'x', claims })
  })
})
