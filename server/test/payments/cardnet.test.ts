/** Notifications of cardnet, from the request to the payment. */
import { beforeAll, describe, expect, test } from 'vitest'
import { CARDNET_SECRET, cardnetSignature as signed } from '../support/payments.ts'
import { OTHER_SECRET, openPaymentScene, type PaymentScene } from './scene.ts'

let at: PaymentScene

beforeAll(async () => {
  at = await openPaymentScene({
    config: { CARDNET_WEBHOOK_SECRET: [CARDNET_SECRET, OTHER_SECRET] },
  })
})

const RECEIVED = { received: true }
const now = () => Math.floor(at.service.clock.now() / 1000)
const inboxSize = async () =>
  (
    await at.service.database.sql<{ n: number }>('select count(*) as n from payment_notifications')
  )[0]?.n

describe('a signed cardnet notification', () => {
  test('becomes a payment of its tenant, and a journal entry', async () => {
    const told = at.about('succeeded', 'pay_whole', { amount: 12_345, currency: 'eur' })
    const row = await at.settle(told)
    expect(row).toMatchObject({
      state: 'applied',
      reason: null,
      tenant_id: at.clinic.id,
      provider_payment_id: 'pay_whole',
      attempts: 1,
      times_received: 1,
    })
    const payment = await at.payment('pay_whole')
    expect(payment).toMatchObject({
      id: row.payment_id,
      tenant_id: at.clinic.id,
      provider: 'cardnet',
      status: 'succeeded',
      amount: 12_345,
      amount_refunded: 0,
      currency: 'EUR',
      currency_exponent: 2,
    })
    const after = {
      provider: 'cardnet',
      provider_payment_id: 'pay_whole',
      status: 'succeeded',
      amount: 12_345,
      amount_refunded: 0,
      currency: 'EUR',
    }
    expect(await at.entriesOf('pay_whole')).toEqual([
      expect.objectContaining({
        action: 'payment.succeeded',
        tenant_id: at.clinic.id,
        user_id: null,
        resource_type: 'payment',
        resource_id: String(payment?.id),
        changes: { before: null, after },
      }),
    ])
  })

  test('may be signed with any configured secret, and have any content type', async () => {
    const told = at.about('created', 'pay_rotated')
    expect((await at.send(told, { secret: OTHER_SECRET })).body).toEqual(RECEIVED)
    const payload = JSON.stringify(at.about('created', 'pay_typed'))
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'no type at all', ''])
      expect(
        await at.service.call('POST', '/webhooks/cardnet', {
          payload,
          headers: { 'content-type': type, 'cardnet-signature': signed(payload, now()) },
        }),
        type,
      ).toMatchObject({ status: 200, body: RECEIVED })
  })

  test('updates its payment, with a journal entry for each change', async () => {
    const created = (seconds: number) => ({ created: 1_790_000_000 + seconds })
    await at.settle(at.about('created', 'pay_life', { amount: 900 }, created(1)))
    await at.settle(at.about('failed', 'pay_life', {}, created(2)))
    await at.settle(at.about('authorized', 'pay_life', {}, created(3)))
    await at.settle(at.about('succeeded', 'pay_life', { amount: 800 }, created(4)))
    await at.settle(at.about('refunded', 'pay_life', { amount: 800, amount_refunded: 300 }))
    const last = await at.settle(at.about('refunded', 'pay_life', { amount: 800 }))
    expect(last.state).toBe('applied')
    expect((await at.settle(at.about('failed', 'pay_life', {}, created(9)))).state).toBe(
      'superseded',
    )
    expect(await at.payment('pay_life')).toMatchObject({
      status: 'refunded',
      amount: 800,
      amount_refunded: 800,
    })
    expect((await at.entriesOf('pay_life')).map(({ action }) => action)).toEqual([
      'payment.updated',
      'payment.failed',
      'payment.updated',
      'payment.succeeded',
      'payment.refunded',
      'payment.refunded',
    ])
  })

  test.each([
    'customer.created',
    'payment',
    'payment.',
    'payment.disputed',
    '__proto__',
    'toString',
  ])('is ignored if its type is %s', async (type) => {
    const told = { ...at.about('succeeded', 'pay_ignored'), type }
    expect(await at.settle(told)).toMatchObject({ state: 'ignored', payment_id: null })
    expect(await at.payment('pay_ignored')).toBeUndefined()
  })
})

describe('a cardnet notification gets 400 invalid_signature and is not stored if it is sent', () => {
  const body = JSON.stringify({ id: 'evt_forged', type: 'payment.succeeded' })
  const headers: [string, () => string | null][] = [
    ['without a signature', () => null],
    ['with an empty signature', () => ''],
    ['with a signature without t', () => signed(body, now()).replace(/^t=\d+,/, '')],
    ['with a signature without v1', () => `t=${now()}`],
    ['with a wrong signature', () => signed(body, now(), 'a secret of nobody here')],
    ['with the signature of another body', () => signed(`${body} `, now())],
    ['with a signature that is more than five minutes old', () => signed(body, now() - 302)],
    ['with a signature from more than five minutes in the future', () => signed(body, now() + 302)],
  ]

  test.each(headers)('%s', async (_what, header) => {
    for (const sent of [body, 'no JSON', '', Buffer.from([0xff])]) {
      const before = await inboxSize()
      const answer = await at.send(sent, { signature: header() })
      expect(answer).toMatchObject({
        status: 400,
        body: { detail: 'Invalid signature', code: 'invalid_signature' },
      })
      expect(await inboxSize()).toBe(before)
    }
  })

  test('with two signature headers, although one of them is valid', async () => {
    const response = await at.service.app.server.inject({
      method: 'POST',
      url: '/webhooks/cardnet',
      headers: { 'cardnet-signature': [signed(body, now()), signed(body, now())] as never },
      payload: body,
    })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ code: 'invalid_signature' })
  })
})

describe('a signed body gets all errors about required fields, and is not stored, if it is', () => {
  const json = (loc: string[], type: string) => ({ loc: ['body', ...loc], type })
  test.each([
    ['not JSON', '{', [json([], 'json_invalid')]],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), [json([], 'json_invalid')]],
    ['nothing', '', [json([], 'missing')]],
    ['a list', '[]', [json([], 'dict_type')]],
    ['null', 'null', [json([], 'dict_type')]],
    ['an object without id and type', '{}', [json(['id'], 'missing'), json(['type'], 'missing')]],
    [
      'an object whose id and type are not text',
      '{"id":5,"type":null}',
      [json(['id'], 'string_type'), json(['type'], 'string_type')],
    ],
    [
      'an object whose id and type are empty',
      '{"id":"","type":""}',
      [json(['id'], 'string_too_short'), json(['type'], 'string_too_short')],
    ],
    [
      'an object with an id of 256 characters',
      `{"id":"${'x'.repeat(256)}","type":"a"}`,
      [json(['id'], 'string_too_long')],
    ],
    [
      'an object with a NUL in its id',
      '{"id":"a\\u0000","type":"a"}',
      [json(['id'], 'value_error')],
    ],
    [
      'an object with half a character in its type',
      '{"id":"a","type":"\\ud800"}',
      [json(['type'], 'value_error')],
    ],
    [
      'an object with id and type only in __proto__',
      '{"__proto__":{"id":"a","type":"b"}}',
      [json(['id'], 'missing'), json(['type'], 'missing')],
    ],
  ])('%s', async (_what, body, faults) => {
    const before = await inboxSize()
    const answer = await at.send(body)
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toMatchObject(faults)
    expect(answer.body.detail).toHaveLength(faults.length)
    expect(await inboxSize()).toBe(before)
  })
})

describe('a signed notification with another error is stored as failed:', () => {
  const tenant = () => ({ tenant_id: at.clinic.id })
  const cases: [string, string, (object: Record<string, any>) => unknown][] = [
    ['no object', 'unreadable', () => undefined],
    ['text instead of an object', 'unreadable', () => 'pay_1'],
    ['no id', 'unreadable', ({ id: _, ...object }) => object],
    ['a long id', 'unreadable', (object) => ({ ...object, id: 'x'.repeat(256) })],
    ['no metadata', 'tenant_unreadable', ({ metadata: _, ...object }) => object],
    [
      'a tenant ID that is a word',
      'tenant_unreadable',
      (o) => ({ ...o, metadata: { tenant_id: 'two' } }),
    ],
    ['tenant 0', 'tenant_unreadable', (o) => ({ ...o, metadata: { tenant_id: '0' } })],
    [
      'a fraction as tenant ID',
      'tenant_unreadable',
      (o) => ({ ...o, metadata: { tenant_id: 1.5 } }),
    ],
    ['an unknown tenant', 'unknown_tenant', (o) => ({ ...o, metadata: { tenant_id: 2 ** 50 } })],
    ['no currency', 'currency_unknown', (o) => ({ ...o, metadata: tenant(), currency: null })],
    [
      'gold as the currency',
      'currency_unknown',
      (o) => ({ ...o, metadata: tenant(), currency: 'XAU' }),
    ],
    ['no amount', 'amount_unreadable', ({ amount: _, ...o }) => ({ ...o, metadata: tenant() })],
    [
      'an amount that is text',
      'amount_unreadable',
      (o) => ({ ...o, metadata: tenant(), amount: '10' }),
    ],
    ['a negative amount', 'amount_unreadable', (o) => ({ ...o, metadata: tenant(), amount: -1 })],
    ['half a cent', 'amount_unreadable', (o) => ({ ...o, metadata: tenant(), amount: 10.5 })],
    [
      'an amount above 2^53 - 1',
      'amount_unreadable',
      (o) => ({ ...o, metadata: tenant(), amount: 2 ** 53 }),
    ],
  ]

  test.each(cases)('%s', async (_what, reason, change) => {
    const told = at.about('succeeded', 'pay_failed')
    const body = JSON.stringify({ ...told, data: { object: change(told.data.object) } })
    expect((await at.send(body)).body).toEqual(RECEIVED)
    await at.untilSettled()
    expect(await at.rowsOf(told.id)).toMatchObject([{ state: 'failed', reason, payment_id: null }])
    expect(await at.payment('pay_failed')).toBeUndefined()
  })

  test('amounts that JavaScript would round', async () => {
    for (const amount of ['1000.0000000000000000001', '9007199254740993', '1e3', '-0']) {
      const told = at.about('succeeded', 'pay_rounded')
      const body = JSON.stringify(told).replace('"amount":1000', `"amount":${amount}`)
      expect(body).toContain(amount)
      await at.send(body)
      await at.untilSettled()
      expect(await at.rowsOf(told.id), amount).toMatchObject([
        { state: 'failed', reason: 'amount_unreadable' },
      ])
    }
  })

  test('a body nested deeper than the stack', async () => {
    const id = 'evt_deep'
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    expect((await at.send(`{"id":"${id}","type":"payment.succeeded","data":${deep}}`)).status).toBe(
      200,
    )
    await at.untilSettled()
    expect(await at.rowsOf(id)).toMatchObject([{ state: 'failed', reason: 'unreadable' }])
  })
})

test('a notification of more than 256 KiB gets 413, and one of 256 KiB is accepted', async () => {
  const size = 256 * 1024
  const body = (bytes: number) => {
    const told = JSON.stringify({ id: 'evt_large', type: 'other' })
    return told + ' '.repeat(bytes - told.length)
  }
  expect((await at.send(body(size))).status).toBe(200)
  expect((await at.send(body(size + 1))).status).toBe(413)
})

test('the tenant ID in a notification can be a number or digits as text', async () => {
  for (const tenant_id of [at.clinic.id, String(at.clinic.id), `00${at.clinic.id}`]) {
    const told = at.about('succeeded', `pay_of_${typeof tenant_id}_${tenant_id}`)
    told.data.object.metadata = { tenant_id }
    expect(await at.settle(told)).toMatchObject({ state: 'applied', tenant_id: at.clinic.id })
  }
})
