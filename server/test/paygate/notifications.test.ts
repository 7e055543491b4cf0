/**
 * The service stores notifications of paygate before it responds. It verifies them afterwards, and applies the state
 * that the API reports.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { DAY, HOUR, SECOND } from '../../src/lib/clock.ts'
import { eventually } from '../net/scene.ts'
import { CREDENTIALS, SHOP } from '../support/paygate.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPaidClinic, type PaidClinic, senderTo, settingsOf, untilRow } from './clinic.ts'

const TAKEN = { status: 200, body: { received: true } }

let scene: PaidClinic

describe('a paygate notification', () => {
  beforeEach(async () => {
    scene = await openPaidClinic()
  })

  test('updates the payment to what the API returns, and publishes an event', async () => {
    const payment = scene.pay('p1', { payer: { name: 'Ann Payer' }, description: 'knee surgery' })
    const lie = { ...payment, amount: { value: '1.00', currency: 'EUR' } }
    expect(await scene.send(scene.paygate.noticeOf('payment.succeeded', lie))).toMatchObject(TAKEN)
    await untilRow(scene, { state: 'applied', reason: null, tenant_id: scene.clinic.id })
    expect(await scene.payments()).toMatchObject([
      {
        tenant_id: scene.clinic.id,
        provider: 'paygate',
        provider_payment_id: 'p1',
        status: 'succeeded',
        amount: 10_000,
        currency: 'EUR',
      },
    ])
    const [entry] = await scene.entries()
    expect(entry).toMatchObject({ action: 'payment.succeeded', tenant_id: scene.clinic.id })
    const told = JSON.stringify([await scene.payments(), entry, scene.service.logged])
    for (const word of ['Ann Payer', 'knee', SHOP.key, CREDENTIALS])
      expect(told).not.toContain(word)
  })

  test('gets its response while the API does not respond, because only background work waits for the API', async () => {
    const payment = scene.pay('p1')
    scene.paygate.misbehave(() => 'stall')
    expect(await scene.send(scene.paygate.noticeOf('payment.succeeded', payment))).toMatchObject(
      TAKEN,
    )
    await eventually('the API is asked', () => scene.paygate.open() === 1)
    expect(await scene.rows()).toMatchObject([{ state: 'received' }])
    expect(await scene.payments()).toEqual([])
    scene.paygate.goOn()
    await untilRow(scene, { state: 'applied' })
  })

  test('is verified again after 5 seconds if the API still returns the old state, and is then applied', async () => {
    const payment = scene.pay('p1', { status: 'pending' })
    const notice = scene.paygate.noticeOf('payment.succeeded', { ...payment, status: 'succeeded' })
    await scene.send(notice)
    const row = await untilRow(scene, { state: 'received', reason: 'not_confirmed' })
    expect(Date.parse(row.due_at) - scene.service.clock.now()).toBeLessThanOrEqual(5 * SECOND)
    expect(await scene.payments()).toEqual([])
    scene.pay('p1', { status: 'succeeded' })
    scene.service.clock.advance(5 * SECOND)
    await untilRow(scene, { state: 'applied' })
    expect(await scene.payments()).toMatchObject([{ status: 'succeeded' }])
  })

  test('fails if the API has denied the payment for a day, and is verified immediately when sent again', async () => {
    const payment = scene.pay('p1', { status: 'pending' })
    const notice = scene.paygate.noticeOf('payment.succeeded', { ...payment, status: 'succeeded' })
    await scene.send(notice)
    await untilRow(scene, { state: 'received', reason: 'not_confirmed' })
    // Simulates a day of verification attempts.
    await scene.service.database.sql('update payment_notifications set tries = 20')
    scene.service.clock.advance(DAY)
    await untilRow(scene, { state: 'failed', reason: 'not_confirmed' })
    expect(await scene.payments()).toEqual([])
    scene.pay('p1', { status: 'succeeded' })
    await scene.send(notice)
    await untilRow(scene, { state: 'applied', times_received: 2 })
    expect(await scene.entries()).toHaveLength(1)
  })

  test('waits while the API refuses the credentials, and the health report says so', async () => {
    scene.paygate.changeKey('another')
    await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
    await untilRow(scene, { state: 'received', reason: 'provider_refused' })
    await untilPaygate('degraded')
    const { attempts } = await untilRow(scene, { state: 'received' })
    scene.service.clock.advance(3 * DAY)
    await eventuallyTried(attempts)
    expect(await scene.rows()).toMatchObject([{ state: 'received', reason: 'provider_refused' }])
    scene.paygate.changeKey(SHOP.key)
    scene.service.clock.advance(DAY)
    await untilRow(scene, { state: 'applied' })
    await untilPaygate('ok')
  })

  test('is ignored without verification if its type is unknown', async () => {
    const { paygate } = scene
    await scene.send(paygate.noticeOf('payment.method_changed', scene.pay('p1')))
    await untilRow(scene, { state: 'ignored', reason: null })
    expect(paygate.asked).toEqual([])
  })

  test("about an open state is ordered by the database's clock, not by a node's clock", async () => {
    const late = await openService({
      background: ['payments'],
      database: scene.service.database,
      config: settingsOf(scene.paygate),
    })
    // One node's clock is an hour ahead. The later notification must win, although it arrives on the other node.
    scene.service.clock.advance(HOUR)
    await scene.send(
      scene.paygate.noticeOf('payment.pending', scene.pay('p1', { status: 'pending' })),
    )
    await until(
      'it is pending',
      async () => (await scene.payments())[0]?.status === 'pending' || undefined,
    )
    await scene.service.close()
    const payment = scene.pay('p1', { status: 'waiting_for_capture' })
    await senderTo(late)(scene.paygate.noticeOf('payment.waiting_for_capture', payment))
    await until(
      'it is authorized',
      async () => (await scene.payments())[0]?.status === 'authorized' || undefined,
    )
  })

  test('about a refund sets the refunded amount, and never lowers it', async () => {
    const sum = (value: string) => ({ value, currency: 'EUR' })
    const refund = (id: string, value: string, counted: string) => {
      const payment = scene.pay('p1', { refunded_amount: sum(counted) })
      const one = { id, payment_id: 'p1', status: 'succeeded', amount: sum(value) } as const
      scene.paygate.refunds.set(id, one)
      expect(payment.id).toBe('p1')
      return scene.send(scene.paygate.noticeOf('refund.succeeded', one))
    }
    await refund('r1', '30.00', '30.00')
    await eventuallyRefunded(3_000)
    await refund('r2', '70.00', '100.00')
    await eventuallyRefunded(10_000)
    expect(await scene.payments()).toMatchObject([{ status: 'refunded' }])
    expect((await scene.entries()).map(({ action }) => action)).toEqual([
      'payment.refunded',
      'payment.refunded',
    ])
  })

  test('is applied once when sent 32 times concurrently to two nodes', async () => {
    const second = await openService({
      background: ['payments'],
      database: scene.service.database,
      config: settingsOf(scene.paygate),
    })
    const notice = scene.paygate.noticeOf('payment.succeeded', scene.pay('p1'))
    const senders = [scene.send, senderTo(second)]
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, index) => senders[index % 2]?.(notice)),
    )
    for (const answer of answers) expect(answer).toMatchObject(TAKEN)
    await untilRow(scene, { state: 'applied', times_received: 32 })
    expect(await scene.rows()).toHaveLength(1)
    expect(await scene.entries()).toHaveLength(1)
  })
})

const eventuallyTried = (attempts: number) =>
  untilSomething(async () => {
    const [row] = await scene.rows()
    return row !== undefined && row.attempts > attempts && row.leased_until === null
  })

const eventuallyRefunded = (amount: number) =>
  untilSomething(async () => (await scene.payments())[0]?.amount_refunded === amount)

const untilPaygate = (is: string) =>
  until(`paygate is ${is}`, async () => (await scene.health()).paygate === is || undefined)

const untilSomething = (isSo: () => Promise<boolean>) =>
  until('it is so', async () => (await isSo()) || undefined)

describe('a paygate request is not stored if it', () => {
  test('comes from an address outside the allowed networks, with any X-Forwarded-For', async () => {
    scene = await openPaidClinic({ config: { TRUSTED_PROXIES: 1 } })
    const notice = scene.paygate.noticeOf('payment.succeeded', scene.pay('p1'))
    const from = (address: string) => scene.send(notice, { 'x-forwarded-for': address })
    const refused = { status: 403, body: { code: 'sender_not_allowed' } }
    expect(await from('203.0.113.9')).toMatchObject(refused)
    expect(await from('127.0.0.5, 203.0.113.9')).toMatchObject(refused)
    expect(await scene.rows()).toEqual([])
    expect(await from('203.0.113.9, ::ffff:127.0.0.5')).toMatchObject(TAKEN)
  })

  test('is not a notification, or exceeds 256 KiB', async () => {
    scene = await openPaidClinic()
    const refused = { status: 400, body: { code: 'notification_unreadable' } }
    for (const body of ['', '{', '[]', '{"event":"payment.succeeded"}', '{"object":{"id":"p1"}}'])
      expect([body, await scene.send(body)]).toMatchObject([body, refused])
    const large = JSON.stringify({ event: 'payment.x', object: { id: 'p1' } }).padEnd(256 * 1024)
    expect(await scene.send(`${large} `)).toMatchObject({ status: 413 })
    expect(await scene.rows()).toEqual([])
    expect(await scene.send(large, { 'content-type': 'text/plain' })).toMatchObject(TAKEN)
    expect(scene.paygate.asked.every(({ path }) => path === 'payments/p1')).toBe(true)
  })
})

test('paygate notifications are kept while paygate is not configured, and verified later', async () => {
  scene = await openPaidClinic()
  const nothing = Object.fromEntries(
    Object.keys(settingsOf(scene.paygate)).map((name) => [name, undefined]),
  )
  const before = await openService({
    background: ['payments'],
    database: scene.service.database,
    config: nothing,
  })
  const notice = scene.paygate.noticeOf('payment.succeeded', scene.pay('p1'))
  expect(await senderTo(before)(notice, { 'x-forwarded-for': '203.0.113.9' })).toMatchObject(TAKEN)
  const { id } = await untilRow(scene, { state: 'unverified', reason: 'not_configured' })
  expect(scene.paygate.asked).toEqual([])
  const process = `/api/admin/payment-notifications/${id}/process`
  const tried = await scene.service.call('POST', process, { token: scene.root.token })
  expect(tried.status).toBe(200)
  await untilRow(scene, { state: 'applied' })
  // The genuine notification has the same key, but is stored separately. It changes nothing.
  expect(await scene.send(notice)).toMatchObject(TAKEN)
  expect(await scene.payments()).toHaveLength(1)
  expect(await scene.entries()).toHaveLength(1)
})
