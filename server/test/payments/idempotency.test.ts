/** A notification takes effect exactly once, regardless of the number of repeats and nodes, and of their order. */
import { expect, test } from 'vitest'
import { tidyInbox } from '../../src/features/payments/upkeep/payments.jobs.ts'
import { DAY } from '../../src/lib/clock.ts'
import { migratedDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { openService } from '../support/service.ts'
import { openPaymentScene, senderTo } from './scene.ts'

const never = new AbortController().signal

test('each of 32 concurrent copies of a notification on two nodes is answered 200 and counted, and one is applied', async () => {
  const at = await openPaymentScene()
  const second = senderTo(
    await openService({ background: ['payments'], database: at.service.database }),
  )
  const told = at.about('refunded', 'pay_raced', { amount_refunded: 400 })
  const answers = await Promise.all(
    Array.from({ length: 32 }, (_, index) => (index % 2 ? second : at.send)(told)),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(32).fill(200))
  await at.untilSettled()
  expect(await at.rowsOf(told.id)).toMatchObject([{ state: 'applied', times_received: 32 }])
  expect(await at.payment('pay_raced')).toMatchObject({ amount: 1000, amount_refunded: 400 })
  expect(await at.entriesOf('pay_raced')).toHaveLength(1)
})

test('concurrent notifications on two nodes lead to the same payment state in any order', async () => {
  const at = await openPaymentScene()
  const second = senderTo(
    await openService({ background: ['payments'], database: at.service.database }),
  )
  const told = ['created', 'authorized', 'failed', 'succeeded', 'refunded'].flatMap((type, order) =>
    Array.from({ length: 8 }, (_, index) =>
      at.about(
        type,
        `pay_mixed_${index}`,
        { amount_refunded: 250 },
        { created: 1_790_000_000 + order },
      ),
    ),
  )
  const shuffled = told.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  await Promise.all(shuffled.map((one, index) => (index % 2 ? second : at.send)(one)))
  await at.untilSettled()
  for (let index = 0; index < 8; index++) {
    const name = `pay_mixed_${index}`
    expect(await at.payment(name)).toMatchObject({
      status: 'partially_refunded',
      amount_refunded: 250,
    })
    const entries = await at.entriesOf(name)
    expect(entries.filter(({ action }) => action === 'payment.refunded')).toHaveLength(1)
    expect(entries.at(-1)?.action).toBe('payment.refunded')
  }
})

test('a repeated notification changes nothing after the retention period, when only the payment is left', async () => {
  const at = await openPaymentScene()
  const told = at.about('refunded', 'pay_old', { amount_refunded: 400 })
  await at.settle(told)
  const deps = { db: at.service.app.db, clock: at.service.clock, keepDays: 30, isAsked: true }
  await tidyInbox(deps, never)
  expect(await at.rowsOf(told.id)).toHaveLength(1)
  at.service.clock.advance(30 * DAY + 1000)
  await tidyInbox(deps, never)
  expect(await at.rowsOf(told.id)).toEqual([])
  expect(await at.settle(told)).toMatchObject({ state: 'superseded' })
  expect(await at.payment('pay_old')).toMatchObject({ amount_refunded: 400 })
  expect(await at.entriesOf('pay_old')).toHaveLength(1)
})

test('a signed pending notification is kept beyond the retention period', async () => {
  const at = await openPaymentScene({ role: 'api' })
  const told = at.about('succeeded', 'pay_waiting')
  await at.send(told)
  at.service.clock.advance(100 * DAY)
  const deps = { db: at.service.app.db, clock: at.service.clock, keepDays: 30, isAsked: false }
  await tidyInbox(deps, never)
  expect(await at.rowsOf(told.id)).toMatchObject([{ state: 'received' }])
})

test('an expired lease is taken over, and its former holder then changes nothing', async () => {
  const at = await openPaymentScene({ role: 'api' })
  const told = at.about('succeeded', 'pay_leased')
  await at.send(told)
  const [row] = await at.rowsOf(told.id)
  // Simulates a node that dies right after its claim.
  await at.service.database.sql(
    `update payment_notifications set attempts = attempts + 1, leased_until = now() + interval '1 hour'
     where id = $1`,
    [row?.id],
  )
  await at.service.database.sql(
    'update payment_notifications set leased_until = now() where id = $1',
    [row?.id],
  )
  await openService({ background: ['payments'], database: at.service.database })
  await at.untilSettled()
  expect(await at.rowsOf(told.id)).toMatchObject([{ state: 'applied', attempts: 2 }])
  expect(await at.entriesOf('pay_leased')).toHaveLength(1)
})

test('a notification is answered 503, and never 200, while the database is unavailable', async () => {
  const database = await migratedDatabase()
  const proxy = await proxyTo(database)
  const at = await openPaymentScene({
    database: { ...database, address: { url: proxy.url } },
    role: 'api',
  })
  const told = at.about('succeeded', 'pay_away')
  await proxy.refuse()
  expect(await at.send(told)).toMatchObject({ status: 503, headers: { 'retry-after': '2' } })
  expect(await at.rowsOf(told.id)).toEqual([])
  await proxy.open()
  expect((await at.send(told)).status).toBe(200)
  expect(await at.rowsOf(told.id)).toMatchObject([{ times_received: 1 }])
})
