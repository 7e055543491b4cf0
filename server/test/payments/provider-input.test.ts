/** Notifications as providers really send them: test mode, amounts written by way of floats, byte-order marks. */
import { beforeAll, expect, test } from 'vitest'
import { openPaidClinic } from '../paygate/clinic.ts'
import { openPaymentScene, type PaymentScene } from './scene.ts'

let at: PaymentScene

beforeAll(async () => {
  at = await openPaymentScene()
})

test.each([
  ['in the payment', { livemode: false }, {}],
  ['in the event', {}, { livemode: false }],
])('a payment of cardnet is marked as a test by the flag %s', async (_, object, event) => {
  const id = `pay_test_${Object.keys(event).length}`
  await at.settle({ ...at.about('succeeded', id, object), ...event })
  const { body } = await at.get('/api/admin/payments', at.root, { provider_payment_id: id })
  expect(body.items).toMatchObject([{ status: 'succeeded', test: true }])
  const [entry] = await at.entriesOf(id)
  expect(entry?.changes.after).toMatchObject({ test: true })
})

test('a payment of cardnet without these flags is not marked as a test', async () => {
  await at.settle(at.about('succeeded', 'pay_live', { livemode: true }))
  await at.settle(at.about('succeeded', 'pay_plain'))
  for (const id of ['pay_live', 'pay_plain']) {
    expect(await at.payment(id)).toMatchObject({ test: false })
    const [entry] = await at.entriesOf(id)
    expect(entry?.changes.after).not.toHaveProperty('test')
  }
})

test('a payment of paygate is marked as a test if the API says so', async () => {
  const scene = await openPaidClinic()
  for (const [id, more] of [
    ['p1', { test: true }],
    ['p2', {}],
  ] as const) {
    await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay(id, more)))
    await scene.service.idle('payments')
  }
  const rows = await scene.service.database.sql(
    'select provider_payment_id, test from payments order by 1',
  )
  expect(rows).toEqual([
    { provider_payment_id: 'p1', test: true },
    { provider_payment_id: 'p2', test: false },
  ])
})

test.each([
  ['12050.0', 12_050],
  ['12050.000', 12_050],
  ['12050.5', undefined],
  ['1.2e4', undefined],
])('the amount %s is read exactly or not at all', async (written, amount) => {
  const told = at.about('succeeded', `pay_${written}`, { amount: 777 })
  const payload = JSON.stringify(told).replace('"amount":777', `"amount":${written}`)
  expect((await at.send(payload)).status).toBe(200)
  await at.untilSettled()
  expect((await at.payment(`pay_${written}`))?.amount).toBe(amount)
})

test('a signed notification that starts with a byte order mark is accepted', async () => {
  const told = at.about('succeeded', 'pay_bom')
  expect((await at.send(Buffer.from(`\ufeff${JSON.stringify(told)}`))).status).toBe(200)
  await at.untilSettled()
  expect(await at.payment('pay_bom')).toMatchObject({ status: 'succeeded' })
})

test('any JSON body may start with a byte order mark', async () => {
  const { status } = await at.service.call('PUT', '/api/preferences/theme', {
    token: at.root.token,
    payload: Buffer.from('\ufeff{"theme":"dark"}'),
    headers: { 'content-type': 'application/json' },
  })
  expect(status).toBe(200)
})
