/** The payments that operators see: filters, tenants, and the parts of a notification that stay private. */
import { beforeAll, describe, expect, test } from 'vitest'
import { makeClinic } from '../support/clinics.ts'
import { until } from '../support/until.ts'
import { openPaymentScene, type PaymentScene, type Row } from './scene.ts'

let at: PaymentScene

beforeAll(async () => {
  at = await openPaymentScene()
})

const NOTIFICATIONS = '/api/admin/payment-notifications'

describe('a payment', () => {
  test('can be found by each of its filters, and is shown with its notifications', async () => {
    const told = at.about('succeeded', 'pay_seen', { amount: 500, currency: 'JPY' })
    const { payment_id: id } = await at.settle(told)
    const { admin, auditor } = at.clinic.people
    const filters = [
      { provider_payment_id: 'pay_seen' },
      { currency: 'jpy', status: 'succeeded' },
      { provider: 'cardnet', currency: 'JPY', from_date: '2020-01-01', to_date: '2120-01-01' },
    ]
    for (const who of [admin, auditor, at.root])
      for (const query of filters) {
        const { status, body } = await at.get('/api/admin/payments', who, query)
        expect([status, body.items]).toEqual([
          200,
          [
            {
              id,
              tenant_id: at.clinic.id,
              provider: 'cardnet',
              provider_payment_id: 'pay_seen',
              status: 'succeeded',
              amount: 500,
              amount_refunded: 0,
              currency: 'JPY',
              currency_exponent: 0,
              test: false,
              created_at: expect.any(String),
              updated_at: expect.any(String),
            },
          ],
        ])
      }
    for (const query of [
      { status: 'failed' },
      { currency: 'EUR' },
      { to_date: '2020-01-01' },
      { provider: 'paygate' },
    ])
      expect((await at.get('/api/admin/payments', admin, query as never)).body.items).toEqual([])
    const shown = await at.get(`/api/admin/payments/${id}`, auditor)
    expect(shown.body.notifications).toMatchObject([
      { event_key: told.id, type: 'payment.succeeded', state: 'applied', payment_id: id },
    ])
    expect((await at.get('/api/admin/payments/999999', admin)).status).toBe(404)
  })

  test('belongs permanently to the tenant that was named first', async () => {
    const other = await makeClinic(at.service, at.root, 'other')
    await at.settle(at.about('created', 'pay_bound'))
    const told = at.about('succeeded', 'pay_bound', { metadata: { tenant_id: other.id } })
    expect(await at.settle(told)).toMatchObject({
      state: 'failed',
      reason: 'other_tenant',
      tenant_id: null,
      payment_id: null,
    })
    expect(await at.payment('pay_bound')).toMatchObject({
      tenant_id: at.clinic.id,
      status: 'pending',
    })
  })

  test('is applied for a deactivated tenant, and for a deleted tenant after its restoration', async () => {
    const clinic = await makeClinic(at.service, at.root, 'resting')
    const metadata = { tenant_id: clinic.id }
    const path = `/api/admin/tenants/${clinic.id}`
    const { token } = at.root
    await at.service.call('PUT', path, { token, body: { is_active: false } })
    expect(await at.settle(at.about('created', 'pay_resting', { metadata }))).toMatchObject({
      state: 'applied',
    })
    await at.service.call('DELETE', path, { token })
    const told = at.about('succeeded', 'pay_resting', { metadata })
    const failed = await at.settle(told)
    expect(failed).toMatchObject({ state: 'failed', reason: 'unknown_tenant', tenant_id: null })
    await at.service.app.features.tenants.service.restore(clinic.id)
    expect((await at.send(told)).status).toBe(200)
    expect(await at.rowsOf(told.id)).toMatchObject([{ state: 'failed', times_received: 2 }])
    expect((await at.process(failed.id)).body).toMatchObject({ state: 'received' })
    await at.untilSettled()
    expect(await at.rowsOf(told.id)).toMatchObject([{ state: 'applied', tenant_id: clinic.id }])
    expect(await at.payment('pay_resting')).toMatchObject({ status: 'succeeded' })
  })
})

describe('a payment notification', () => {
  test('can be read by the admin of its verified tenant, and each read is journaled', async () => {
    const told = at.about('succeeded', 'pay_read', { amount: 'much', payer: 'Pauline Payer' })
    const row = await at.settle(told)
    expect(row).toMatchObject({ state: 'failed', tenant_id: at.clinic.id })
    const { admin, auditor, doctor } = at.clinic.people
    const list = await at.get(NOTIFICATIONS, auditor, { reason: 'amount_unreadable' })
    expect(list.body.items).toMatchObject([{ id: row.id, event_key: told.id }])
    expect(JSON.stringify(list.body)).not.toContain('Pauline')
    const path = `${NOTIFICATIONS}/${row.id}`
    expect((await at.get(path, auditor)).status).toBe(403)
    expect((await at.get(path, doctor)).status).toBe(403)
    expect((await at.get(path, admin)).body.body).toBe(JSON.stringify(told))
    const entries = await at.service.database.sql(
      "select user_id, tenant_id from journal where action = 'payment_notification.read' and resource_id = $1",
      [String(row.id)],
    )
    expect(entries).toEqual([{ user_id: admin.id, tenant_id: at.clinic.id }])
  })

  test('cannot be retried once it is applied or ignored', async () => {
    const row = await at.settle(at.about('succeeded', 'pay_settled'))
    expect(await at.process(row.id)).toMatchObject({
      status: 409,
      body: { code: 'notification_settled' },
    })
    expect((await at.process(999_999)).status).toBe(404)
  })

  test("is retried without its key if another tenant's notification has that key", async () => {
    const told = at.about('succeeded', 'pay_held', { amount: 'much' })
    const { id } = await at.settle(told)
    await at.service.database.sql(
      'update payment_notifications set holds_key = false where id = $1',
      [id],
    )
    await at.settle(at.about('succeeded', 'pay_held', { metadata: {} }, { id: told.id }))
    expect(await at.rowsOf(told.id)).toMatchObject([
      { tenant_id: at.clinic.id, holds_key: false },
      { tenant_id: null, holds_key: true },
    ])
    expect(await at.process(id, at.clinic.people.admin)).toMatchObject({
      status: 200,
      body: { id, state: 'received' },
    })
    await at.untilSettled()
    expect(await at.rowsOf(told.id)).toMatchObject([
      { state: 'failed', reason: 'amount_unreadable', holds_key: false },
      { state: 'failed', reason: 'tenant_unreadable', holds_key: true },
    ])
  })

  test('degrades the health report if it has failed, and is counted by state', async () => {
    await until('the health report says so', async () => {
      const { body } = await at.get('/api/admin/health')
      return body.checks.payments === 'degraded' || undefined
    })
    const metrics = await at.service.app.metrics.registry.metrics()
    expect(metrics).toMatch(
      /wardkeep_payment_notifications\{provider="cardnet",state="failed"\} [1-9]/,
    )
    expect(metrics).toMatch(
      /wardkeep_payment_notifications_settled_total\{provider="cardnet",state="applied"\} [1-9]/,
    )
  })
})

test('a payment consists of the only parts of a notification body that are stored unencrypted', async () => {
  const hush = 'hush-7f3a'
  const told = at.about(
    'succeeded',
    'pay_private',
    {
      payer: { name: `${hush} name`, email: `${hush}@payer.test` },
      receipt: hush,
      description: hush,
      metadata: { tenant_id: at.clinic.id, note: hush },
    },
    { [hush]: hush } as never,
  )
  await at.settle(told)
  await at.settle(at.about('failed', 'pay_private_too', { amount: hush, payer: hush }))
  const { sql } = at.service.database
  for (const table of ['payments', 'payment_notifications', 'journal', 'webhook_deliveries']) {
    const rows = await sql(`select t::text as row from ${table} t`)
    expect(JSON.stringify(rows), table).not.toContain(hush)
  }
  expect(JSON.stringify(at.service.logged)).not.toContain(hush)
  const sealed = await sql<{ sealed_body: Buffer }>('select sealed_body from payment_notifications')
  for (const { sealed_body } of sealed) expect(sealed_body.includes(hush)).toBe(false)
})

test('an encrypted value can be decrypted only with the key of its verified tenant', async () => {
  const { sql } = at.service.database
  const row = await at.settle(at.about('succeeded', 'pay_sealed'))
  const keyOf = (sealed: Buffer) => Number(sealed.readBigUInt64BE(1))
  const [key] = await sql<{ tenant_id: number }>('select tenant_id from data_keys where id = $1', [
    keyOf(row.sealed_body),
  ])
  expect(key).toEqual({ tenant_id: at.clinic.id })
  expect(keyOf(row.sealed_signature)).toBe(keyOf(row.sealed_body))
  const unknown = await at.settle(at.about('succeeded', 'pay_unsealed', { metadata: {} }))
  const [platform] = await sql(
    'select t.is_platform from data_keys k join tenants t on t.id = k.tenant_id where k.id = $1',
    [keyOf(unknown.sealed_body)],
  )
  expect(platform).toEqual({ is_platform: true })
})

describe('an encrypted value of a notification', () => {
  const sealedOf = async (id: number) =>
    (
      await at.service.database.sql(
        'select tenant_id, sealed_body, sealed_signature from payment_notifications where id = $1',
        [id],
      )
    )[0] as Row
  const put = (id: number, { tenant_id, sealed_body, sealed_signature }: Row) =>
    at.service.database.sql(
      `update payment_notifications set tenant_id = $2, sealed_body = $3, sealed_signature = $4,
         payment_id = null where id = $1`,
      [id, tenant_id, sealed_body, sealed_signature],
    )

  test.each<[string, (own: Row, other: Row, foreign: Row) => Row]>([
    ['moved to another row', (own, other) => ({ ...own, sealed_body: other.sealed_body })],
    ['moved to another column', (own) => ({ ...own, sealed_body: own.sealed_signature })],
    [
      'assigned to another tenant',
      (own, _other, foreign) => ({ ...own, tenant_id: foreign.tenant_id }),
    ],
    ['replaced with a value of another tenant', (_own, _other, foreign) => foreign],
    [
      'changed in one bit',
      (own) => {
        const sealed_body = Buffer.from(own.sealed_body)
        sealed_body.writeUInt8(sealed_body.readUInt8(40) ^ 1, 40)
        return { ...own, sealed_body }
      },
    ],
  ])('cannot be decrypted if it is %s', async (_what, swap) => {
    const elsewhere = await makeClinic(at.service, at.root, `elsewhere-${swapped++}`)
    const settle = async (tenant: number) =>
      (
        await at.settle(
          at.about('succeeded', `pay_swap_${swapped++}`, { metadata: { tenant_id: tenant } }),
        )
      ).id
    const [id, other, foreign] = [
      await settle(at.clinic.id),
      await settle(at.clinic.id),
      await settle(elsewhere.id),
    ]
    const path = `${NOTIFICATIONS}/${id}`
    expect((await at.get(path)).status).toBe(200)
    const own = await sealedOf(id)
    await put(id, swap(own, await sealedOf(other), await sealedOf(foreign)))
    const { status, body } = await at.get(path)
    expect(status).toBe(500)
    expect(JSON.stringify(body)).not.toContain('pay_swap')
    await put(id, own)
    expect((await at.get(path)).status).toBe(200)
  })
})

let swapped = 0
