/** Unverified notifications are kept for a while, cannot be applied by an operator, and never delay others. */
import pg from 'pg'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { tidyInbox } from '../../src/features/payments/upkeep/payments.jobs.ts'
import { DAY, MINUTE } from '../../src/lib/clock.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { CARDNET_SECRET, cardnetSignature } from '../support/payments.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { OTHER_SECRET, openPaymentScene, type PaymentScene, senderTo } from './scene.ts'

let database: TestDatabase
/** A service without a secret. */
let at: PaymentScene
/** A service with a secret, which uses the same database. */
let later: Service
let sendLater: PaymentScene['send']

beforeAll(async () => {
  database = await migratedDatabase()
  at = await openPaymentScene({ database, config: { CARDNET_WEBHOOK_SECRET: [] }, role: 'api' })
  later = await openService({ background: ['payments'], database })
  sendLater = senderTo(later)
})

const processLater = (id: number, token = at.root.token) =>
  later.call('POST', `/api/admin/payment-notifications/${id}/process`, { token })

const states = async (eventId: string) => (await at.rowsOf(eventId)).map(({ state }) => state)

describe('a payment provider without a configured secret', () => {
  test('gets the usual response, and its notification is stored as unverified, visible only to superadmins', async () => {
    const told = at.about('succeeded', 'pay_unproven')
    for (const signature of [undefined, null, 'nonsense'])
      expect(await at.send(told, signature === undefined ? {} : { signature })).toMatchObject({
        status: 200,
        body: { received: true },
      })
    const rows = await at.rowsOf(told.id)
    expect(rows).toHaveLength(3)
    for (const row of rows)
      expect(row).toMatchObject({
        state: 'unverified',
        tenant_id: null,
        due_at: null,
        reason: 'not_configured',
      })
    expect(await at.payment('pay_unproven')).toBeUndefined()
    const path = `/api/admin/payment-notifications/${rows[0]?.id}`
    expect((await at.get(path, at.clinic.people.admin)).status).toBe(404)
    expect(JSON.parse((await at.get(path)).body.body)).toEqual(told)
  })

  test('has unverified notifications that superadmins can discard, which is journaled', async () => {
    await at.send(at.about('succeeded', 'pay_discarded'))
    const discard = (body: object, token = at.root.token) =>
      later.call('POST', '/api/admin/payment-notifications/discard', { token, body })
    expect((await discard({}, at.clinic.people.admin.token)).status).toBe(403)
    expect((await discard({ provider: 'other' })).status).toBe(422)
    const left = async () =>
      (await database.sql(`select from payment_notifications where state = 'unverified'`)).length
    const count = await left()
    expect(count).toBeGreaterThan(0)
    expect((await discard({ provider: 'paygate' })).body).toEqual({ discarded: 0 })
    expect(await left()).toBe(count)
    expect((await discard({ provider: 'cardnet' })).body).toEqual({ discarded: count })
    expect(await left()).toBe(0)
    const entries = await database.sql(
      `select changes from journal where action = 'payment_notification.discarded' order by id`,
    )
    expect(entries).toEqual([
      { changes: { provider: 'paygate', discarded: 0 } },
      { changes: { provider: 'cardnet', discarded: count } },
    ])
  })

  test('has notifications that nobody can apply', async () => {
    const told = at.about('succeeded', 'pay_forced')
    await at.send(told)
    const [row] = await at.rowsOf(told.id)
    expect(await at.process(row?.id)).toMatchObject({
      status: 200,
      body: { state: 'unverified', reason: 'not_configured' },
    })
    expect(await at.payment('pay_forced')).toBeUndefined()
  })

  test('still gets an error for a notification that cannot be stored', async () => {
    expect((await at.send('{}')).status).toBe(422)
  })
})

describe('a payment provider that is not configured', () => {
  test.each(['/webhooks/cardnet', '/webhooks/paygate'])(
    'gets 413 for notifications over 16 KiB at %s',
    async (path) => {
      const notice = (id: string, length: number) =>
        JSON.stringify({
          id,
          type: 'x',
          event: 'x',
          object: { id },
          pad: 'x'.repeat(length - 80 - 3 * id.length),
        })
      const send = (payload: string) => at.service.call('POST', path, { payload })
      const id = path.slice(-7)
      expect((await send(notice(id, 16 * 1024))).status).toBe(200)
      expect(await send(notice(`${id}-long`, 17 * 1024))).toMatchObject({
        status: 413,
        body: { code: 'body_too_large', detail: expect.stringContaining('16 KiB') },
      })
    },
  )

  test('shares the limit of all requests from an IP address', async () => {
    const service = await openService({
      config: { CARDNET_WEBHOOK_SECRET: [], RATE_LIMIT_PER_MINUTE: 2 },
    })
    const statuses: number[] = []
    for (const path of ['/webhooks/cardnet', '/webhooks/paygate', '/webhooks/cardnet'])
      statuses.push((await service.call('POST', path, { payload: '{}' })).status)
    expect(statuses).toEqual([422, 400, 429])
  })

  test('does not degrade the health report with its notifications', async () => {
    await at.send(at.about('succeeded', 'pay_of_a_stranger'))
    const health = async () => (await at.get('/api/admin/health')).body.checks.payments
    expect(await health()).toBe('ok')
    await at.service.database.sql(`update payment_notifications set received_at = now() - interval '3 days',
      state = 'failed' where state = 'unverified' and provider_payment_id = 'pay_of_a_stranger'`)
    at.service.clock.advance(MINUTE)
    expect(await health()).toBe('ok')
  })

  test('has at most 64 MiB of its notifications stored', async () => {
    await at.service.database.sql(`
      insert into payment_notifications (provider, event_key, type, state, reason, holds_key, received_at, armed_at,
        seal_id, sealed_body)
      select provider, 'filled' || n, 'x', 'unverified', 'not_configured', false, now(), now(), gen_random_uuid(),
        sealed_body || convert_to(repeat('x', 16380), 'UTF8')
      from payment_notifications, generate_series(1, 4096) n
      where id = (select min(id) from payment_notifications where provider = 'cardnet')`)
    expect(await at.send(at.about('succeeded', 'pay_too_much'))).toMatchObject({
      status: 429,
      body: { code: 'inbox_full' },
    })
    await at.service.database.sql(
      `delete from payment_notifications where event_key like 'filled%'`,
    )
    expect((await at.send(at.about('succeeded', 'pay_enough'))).status).toBe(200)
  })
})

describe('once a secret is configured, the payment provider', () => {
  test('gets earlier signed notifications verified by their time of arrival', async () => {
    const told = at.about('succeeded', 'pay_proven')
    await at.send(told)
    later.clock.advance(10 * MINUTE)
    const [row] = await at.rowsOf(told.id)
    expect(await processLater(row?.id)).toMatchObject({ status: 200, body: { state: 'received' } })
    await at.untilSettled()
    expect(await at.rowsOf(told.id)).toMatchObject([
      { state: 'applied', tenant_id: at.clinic.id, holds_key: true },
    ])
    expect((await sendLater(told)).status).toBe(200)
    expect(await at.rowsOf(told.id)).toMatchObject([{ times_received: 2 }])
    expect(await at.entriesOf('pay_proven')).toHaveLength(1)
  })

  test.each([
    ['was not signed', { signature: null }],
    ['was signed with another secret', { secret: OTHER_SECRET }],
    ['was already old when it arrived', { t: Math.floor(Date.now() / 1000) - 400 }],
  ])(
    'never gets a notification verified that %s, however often anybody retries',
    async (_what, options) => {
      const told = at.about('succeeded', 'pay_never')
      await at.send(told, options)
      const [row] = await at.rowsOf(told.id)
      for (let again = 0; again < 2; again++)
        expect(await processLater(row?.id)).toMatchObject({
          status: 200,
          body: { state: 'unverified', reason: 'invalid_signature' },
        })
      expect(await at.payment('pay_never')).toBeUndefined()
    },
  )

  test('gets its genuine notification accepted despite an unverified one of the same event', async () => {
    const told = at.about('succeeded', 'pay_true')
    await at.send({ ...told, data: {} }, { signature: null })
    expect((await sendLater(told)).status).toBe(200)
    await until(
      'the true one is applied',
      async () => (await states(told.id)).includes('applied') || undefined,
    )
    expect(await states(told.id)).toEqual(['unverified', 'applied'])
  })

  test('changes nothing when an earlier copy is verified after the genuine notification', async () => {
    const told = at.about('refunded', 'pay_both', { amount_refunded: 100 })
    await at.send(told)
    await sendLater(told)
    await at.untilSettled()
    const [early] = await at.rowsOf(told.id)
    await processLater(early?.id)
    await at.untilSettled()
    expect(await states(told.id)).toEqual(['superseded', 'applied'])
    expect(await at.entriesOf('pay_both')).toHaveLength(1)
    expect(await at.payment('pay_both')).toMatchObject({ amount_refunded: 100 })
  })

  test('has its unverified notifications hidden from the admin of a tenant', async () => {
    const told = at.about('succeeded', 'pay_hidden')
    await at.send(told)
    const [row] = await at.rowsOf(told.id)
    expect((await processLater(row?.id, at.clinic.people.admin.token)).status).toBe(404)
  })
})

test('unverified notifications are deleted after 7 days', async () => {
  const told = at.about('succeeded', 'pay_week')
  await at.send(told)
  const tidy = (days: number) =>
    tidyInbox(
      {
        db: later.app.db,
        clock: { now: () => at.service.clock.now() + days * DAY },
        keepDays: 30,
        isAsked: false,
      },
      new AbortController().signal,
    )
  await tidy(6.9)
  expect(await at.rowsOf(told.id)).toHaveLength(1)
  await tidy(7.1)
  expect(await at.rowsOf(told.id)).toEqual([])
})

test('at 10,000 unverified notifications, unsigned ones get 429, the health is degraded, and signed ones are accepted', async () => {
  const [row] = await database.sql<{ n: number }>(
    "select count(*)::int as n from payment_notifications where state = 'unverified'",
  )
  await database.sql(
    `insert into payment_notifications (provider, event_key, type, state, holds_key, received_at,
       armed_at, seal_id, sealed_body)
     select 'cardnet', 'flood_' || n, 'x', 'unverified', false, now(), now(), gen_random_uuid(),
       '\\x02' || int8send(k.id)
     from generate_series(1, $1) n, data_keys k join tenants t on t.id = k.tenant_id and t.is_platform`,
    [9_999 - (row?.n ?? 0)],
  )
  // Sends to two nodes without a secret at the same time, because the limit counts for the whole database, not for each
  // node.
  const other = await openService({
    database,
    config: { CARDNET_WEBHOOK_SECRET: [] },
  })
  const senders = [at.send, senderTo(other)]
  const flood = Array.from({ length: 12 }, (_, n) =>
    senders[n % 2]?.(at.about('succeeded', 'pay_flood')),
  )
  const statuses = (await Promise.all(flood)).map((answer) => answer?.status)
  expect(statuses.toSorted()).toEqual([200, ...Array(11).fill(429)])
  const [full] = await database.sql(
    "select count(*)::int as n from payment_notifications where state = 'unverified'",
  )
  expect(full).toEqual({ n: 10_000 })
  expect(await at.send(at.about('succeeded', 'pay_flood'))).toMatchObject({
    status: 429,
    headers: { 'retry-after': '3600' },
    body: { code: 'inbox_full' },
  })
  const told = at.about('succeeded', 'pay_signed')
  expect((await sendLater(told)).status).toBe(200)
  await until('the health report says so', async () => {
    const { body } = await later.call('GET', '/api/admin/health', { token: at.root.token })
    return body.checks.payments === 'degraded' || undefined
  })
})

async function makeRoomAndSend(told: object) {
  await database.sql("delete from payment_notifications where event_key like 'flood_%'")
  expect((await at.send(told)).status).toBe(200)
}

test('two notifications of one event that are verified concurrently are applied, and the second has no effect', async () => {
  const told = at.about('refunded', 'pay_twins', { amount_refunded: 100 })
  for (let copy = 0; copy < 4; copy += 1) await makeRoomAndSend(told)
  const rows = await at.rowsOf(told.id)
  const answers = await Promise.all(rows.map(({ id }) => processLater(id)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await at.untilSettled()
  const settled = await at.rowsOf(told.id)
  expect(settled.map(({ state }) => state).toSorted()).toEqual([
    'applied',
    'superseded',
    'superseded',
    'superseded',
  ])
  expect(settled.filter(({ holds_key }) => holds_key)).toHaveLength(1)
  expect(await at.entriesOf('pay_twins')).toHaveLength(1)
  expect(await at.payment('pay_twins')).toMatchObject({ amount_refunded: 100 })
})

test('verification continues without the key of a notification if another notification takes that key', async () => {
  const told = at.about('succeeded', 'pay_keyless')
  for (let copy = 0; copy < 2; copy += 1) await makeRoomAndSend(told)
  const [one, other] = await at.rowsOf(told.id)
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query('begin')
  await holder.query('update payment_notifications set holds_key = true where id = $1', [one?.id])
  const answer = processLater(other?.id)
  await until('it waits for the key', async () => {
    const waiting = await database.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waiting.length > 0 || undefined
  })
  await holder.query('commit')
  expect(await answer).toMatchObject({ status: 200, body: { state: 'received' } })
  await at.untilSettled()
  expect(await at.rowsOf(told.id)).toMatchObject([
    { state: 'unverified', holds_key: true },
    { state: 'applied', holds_key: false },
  ])
})

test('the signatures in these tests are created in the same way as those of cardnet', () => {
  expect(cardnetSignature('x', 5)).toMatch(/^t=5,v1=[0-9a-f]{64}$/)
  expect(CARDNET_SECRET.length).toBeGreaterThanOrEqual(16)
})
