/** Verification with paygate's API. A notification is only a hint, and the API's response decides. */
import { describe, expect, test } from 'vitest'
import { eventually } from '../net/scene.ts'
import { type ApiPayment, CREDENTIALS, type Misbehaviour, SHOP } from '../support/paygate.ts'
import { openReceiver } from '../support/receiver.ts'
import { openScene } from './scene.ts'

const OF_SEVEN = { metadata: { tenant_id: '7' } }
const later = (reason: string, forGood = false) => ({ is: 'later', reason, forGood })

/** The credentials in every form in which they could leak. */
const SECRETS = [SHOP.key, CREDENTIALS, CREDENTIALS.slice('Basic '.length)]

describe('a notification of a payment', () => {
  test('changes only what the API confirms about the payment', async () => {
    const { paygate, read } = await openScene()
    const real = paygate.put({ id: 'p1', ...OF_SEVEN })
    const told = { ...real, amount: { value: '1.00', currency: 'USD' }, metadata: { tenant_id: 1 } }
    expect(await read(paygate.noticeOf('payment.succeeded', told))).toMatchObject({
      is: 'payment',
      facts: { tenant_id: 7, amount: 10_000, currency: 'EUR', said_at: 5 },
    })
    expect(paygate.asked).toEqual([{ path: 'payments/p1', authorization: CREDENTIALS }])
  })

  test.each([
    ['lags', 'payment.succeeded', 'pending'],
    ['lags', 'payment.waiting_for_capture', 'pending'],
    ['denies the payment', 'payment.succeeded', 'canceled'],
    ['lags', 'payment.canceled', 'waiting_for_capture'],
  ] as const)(
    'is verified again if the API %s (%s, but the payment is %s)',
    async (_why, event, status) => {
      const { paygate, read } = await openScene()
      const told = paygate.put({ id: 'p1', status, ...OF_SEVEN })
      expect(await read(paygate.noticeOf(event, told))).toEqual(later('not_confirmed'))
      paygate.put({ id: 'p1', status: 'succeeded' })
      expect(await read(paygate.noticeOf(event, told))).toMatchObject({
        facts: { status: 'succeeded' },
      })
    },
  )

  test('is not trusted if its object claims more than its event', async () => {
    const { paygate, read } = await openScene()
    const pending = paygate.put({ id: 'p1', status: 'pending', ...OF_SEVEN })
    const notice = paygate.noticeOf('payment.pending', { ...pending, status: 'succeeded' })
    expect(await read(notice)).toEqual(later('not_confirmed'))
  })

  test.each(['payment.pending', 'payment.succeeded'])(
    'fails as unreadable immediately if the API returns an unknown value (%s)',
    async (event) => {
      const { paygate, read } = await openScene()
      const told = paygate.put({ id: 'p1', status: 'on_hold' as 'pending', ...OF_SEVEN })
      expect(await read(paygate.noticeOf(event, told))).toEqual({
        is: 'failed',
        reason: 'unreadable',
      })
    },
  )

  test('is accepted if the API returns a newer state of the payment', async () => {
    const { paygate, read } = await openScene()
    const told = paygate.put({ id: 'p1', ...OF_SEVEN })
    const notice = paygate.noticeOf('payment.waiting_for_capture', {
      ...told,
      status: 'waiting_for_capture',
    })
    expect(await read(notice)).toMatchObject({ facts: { status: 'succeeded' } })
  })

  test.each(['../refunds', 'a/b', 'a?b', 'p1#', 'x'.repeat(65), 'é'])(
    'is never sent to the API if its payment ID is %j',
    async (id) => {
      const { paygate, read } = await openScene()
      const notice = paygate.noticeOf('payment.succeeded', { id } as ApiPayment)
      expect(await read(notice)).toEqual({ is: 'failed', reason: 'unreadable' })
      expect(paygate.asked).toEqual([])
    },
  )

  test('is ignored without a request to the API if it is of another kind', async () => {
    const { paygate, read } = await openScene()
    const notice = paygate.noticeOf('payout.succeeded', { id: 'p1' } as ApiPayment)
    expect(await read(notice)).toEqual({ is: 'ignored' })
    expect(paygate.asked).toEqual([])
  })
})

describe('a notification of a refund', () => {
  const sum = (value: string) => ({ value, currency: 'EUR' })

  async function openRefund(status: 'pending' | 'succeeded' = 'succeeded', counted = '40.00') {
    const scene = await openScene()
    scene.paygate.put({ id: 'p1', refunded_amount: sum(counted), ...OF_SEVEN })
    const refund = { id: 'r1', payment_id: 'p1', status, amount: sum('40.00') }
    scene.paygate.refunds.set('r1', refund)
    const notice = scene.paygate.noticeOf('refund.succeeded', { ...refund, status: 'succeeded' })
    return { ...scene, refund, notice }
  }

  test('takes its facts from the API, which it asks for the refund and then for the payment', async () => {
    const { paygate, notice, read } = await openRefund()
    expect(await read(notice)).toMatchObject({ facts: { amount: 10_000, amount_refunded: 4_000 } })
    expect(paygate.asked.map(({ path }) => path)).toEqual(['refunds/r1', 'payments/p1'])
  })

  test('is verified again if the API does not return the refund yet', async () => {
    const { notice, read } = await openRefund('pending')
    expect(await read(notice)).toEqual(later('not_confirmed'))
  })

  test('is verified again if the payment does not include the refund yet', async () => {
    const { paygate, notice, read } = await openRefund('succeeded', '0.00')
    expect(await read(notice)).toEqual(later('not_confirmed'))
    paygate.put({ id: 'p1', refunded_amount: sum('60.00') })
    expect(await read(notice)).toMatchObject({ facts: { amount_refunded: 6_000 } })
  })

  test('is not followed to the payment if the refund contains a payment ID that is unsafe in a path', async () => {
    const { paygate, refund, notice, read } = await openRefund()
    paygate.refunds.set('r1', { ...refund, payment_id: '../payments/p2' })
    expect(await read(notice)).toEqual({ is: 'failed', reason: 'unreadable' })
    expect(paygate.asked).toHaveLength(1)
  })
})

describe('the paygate API', () => {
  async function openPayment(misbehaviour?: Misbehaviour) {
    const scene = await openScene()
    const payment = scene.paygate.put({ id: 'p1', ...OF_SEVEN })
    if (misbehaviour) scene.paygate.misbehave(() => misbehaviour)
    const read = () => scene.read(scene.paygate.noticeOf('payment.succeeded', payment))
    return { ...scene, payment, read }
  }
  const SAID = JSON.stringify({ id: 'p1', status: 'succeeded' })

  test.each<[string, Misbehaviour]>([
    ['is busy', { status: 429, headers: { 'retry-after': '60' } }],
    ['fails', { status: 500 }],
    ['is unavailable', { status: 503, body: '<html>' }],
    [
      'answers with HTML',
      { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } },
    ],
    ['answers with a list', { status: 200, body: '[]' }],
    ['answers without a body', { status: 204 }],
    ['answers with bytes that are not text', { status: 200, body: '\u0000' }],
    ['rejects the request', { status: 400 }],
    ['closes the connection', 'reset'],
    ['answers with too many bytes', { status: 200, body: `{"x":"${'x'.repeat(1024 * 1024)}"}` }],
    ['answers with another payment', { status: 200, body: SAID.replace('p1', 'p2') }],
    ['answers with no payment', { status: 200, body: '{}' }],
    ['answers with the status 201', { status: 201, body: SAID }],
  ])('is queried again if it %s', async (_what, misbehaviour) => {
    const { read } = await openPayment(misbehaviour)
    expect(await read()).toEqual(later('provider_away'))
  })

  test('is queried again if it does not know the payment, because it may be outdated', async () => {
    const { paygate, read } = await openPayment()
    paygate.payments.clear()
    expect(await read()).toEqual(later('not_confirmed'))
  })

  test.each([401, 403])(
    'makes verification pause if it refuses the credentials with the status %i',
    async (status) => {
      const { paygate, read } = await openPayment({ status })
      expect(await read()).toEqual(later('provider_refused', true))
      paygate.misbehave(undefined)
      expect(await read()).toMatchObject({ is: 'payment' })
    },
  )

  test('is not queried at a redirect target, so that the credentials stay with paygate', async () => {
    const other = await openReceiver()
    for (const status of [301, 302, 303, 307, 308]) {
      const { read } = await openPayment({
        status,
        headers: { location: `${other.url}/payments/p1` },
      })
      expect(await read()).toEqual(later('provider_away'))
    }
    expect(other.received).toEqual([])
  })

  test('has 10 seconds to respond to each request', async () => {
    const { api, cut, requests } = await openScene()
    await api.payment('p1', cut.signal)
    await api.refund('r1', cut.signal)
    await api.payments(new Date(0).toISOString(), null, cut.signal)
    expect(requests.map(({ deadlineMs }) => deadlineMs)).toEqual([10_000, 10_000, 10_000])
  })

  test('is not waited for on shutdown', async () => {
    const { paygate, cut, read } = await openPayment('stall')
    const reading = read()
    await eventually('it is asked', () => paygate.open() === 1)
    cut.abort()
    expect(await reading).toEqual(later('provider_away'))
    await eventually('it is left', () => paygate.open() === 0)
  })

  test('gets at most eight concurrent requests, and the other requests afterwards', async () => {
    const { paygate, read } = await openPayment('stall')
    const readings = Array.from({ length: 30 }, read)
    for (let round = 0; round < 4; round += 1) {
      const asked = Math.min((round + 1) * 8, 30)
      await eventually(`${asked} are asked`, () => paygate.asked.length === asked)
      paygate.goOn()
    }
    const all = await Promise.all(readings)
    expect(all.filter((reading) => reading.is === 'payment')).toHaveLength(30)
    expect(paygate.mostOpen()).toBe(8)
  })

  test('is assumed to return the state at the time of the request, not of the response', async () => {
    const { paygate, clock, api, cut, read } = await openPayment('stall')
    const first = Array.from({ length: 8 }, read)
    await eventually('eight are asked', () => paygate.asked.length === 8)
    const waiting = read()
    const list = api.payments(new Date(0).toISOString(), null, cut.signal)
    clock.now = 6
    paygate.misbehave(undefined)
    paygate.goOn()
    for (const reading of await Promise.all(first))
      expect(reading).toMatchObject({ facts: { said_at: 5 } })
    expect(await waiting).toMatchObject({ facts: { said_at: 6 } })
    expect(await list).toMatchObject({ askedAt: 6 })
  })

  test('gets the credentials, which appear in no log and no response', async () => {
    const { paygate, logged, read } = await openPayment()
    const readings = [await read()]
    for (const next of ['reset', { status: 401 }, { status: 500 }] as const) {
      paygate.misbehave(() => next)
      readings.push(await read())
    }
    await paygate.close()
    readings.push(await read())
    expect(logged.length).toBeGreaterThan(4)
    const told = JSON.stringify([logged, readings])
    for (const secret of SECRETS) expect(told).not.toContain(secret)
    expect(told).not.toContain('p1"}')
    expect(paygate.asked.map(({ authorization }) => authorization)).toEqual(
      paygate.asked.map(() => CREDENTIALS),
    )
  })
})
