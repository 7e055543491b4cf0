/** The figures of payments by clinic and provider: which clinic pays through which provider, and what failed. */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { countByStatus } from '../../src/features/payments/records/stats.store.ts'
import { DAY } from '../../src/lib/clock.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { type Clinic, makeClinic, type Person } from '../support/clinics.ts'
import { openPaymentScene, type PaymentScene } from './scene.ts'

const STATS = '/api/admin/payments/stats'

let at: PaymentScene
let south: Clinic

interface Made {
  provider?: string
  status?: string
  daysAgo?: number
  test?: boolean
}

const pay = (
  { id }: Clinic,
  { provider = 'cardnet', status = 'succeeded', daysAgo = 1, test = false }: Made = {},
) =>
  at.service.database.sql(
    `insert into payments (tenant_id, provider, provider_payment_id, status, amount,
       amount_refunded, currency, currency_exponent, said_at, test, created_at)
     values ($1, $2, $3, $4, 1000, 0, 'EUR', 2, 1, $5, now() - make_interval(days => $6))`,
    [id, provider, randomUUID(), status, test, daysAgo],
  )

const stats = async (who: Person, query: Record<string, string | number> = {}) => {
  const { status, body } = await at.get(STATS, who, query)
  expect(status).toBe(200)
  return body
}
const brief = (items: any[]) =>
  items.map(({ tenant_id, provider, total, by_status: { failed } }) => ({
    tenant_id,
    provider,
    total,
    failed,
  }))

beforeAll(async () => {
  at = await openPaymentScene()
  south = await makeClinic(at.service, at.root, 'south')
  const { clinic } = at
  await pay(clinic)
  await pay(clinic)
  await pay(clinic, { status: 'failed' })
  await pay(clinic, { provider: 'paygate', daysAgo: 3 })
  await pay(clinic, { test: true })
  await pay(clinic, { daysAgo: 45 })
  await pay(south, { provider: 'paygate', status: 'failed' })
  await pay(south, { provider: 'paygate', status: 'failed' })
})

describe('the figures of payments', () => {
  it('show a superadmin every clinic with its providers, those with failed payments first', async () => {
    const { items, max_per_tenant, providers } = await stats(at.root)
    expect(providers).toEqual([
      { provider: 'cardnet', is_configured: true },
      { provider: 'paygate', is_configured: false },
    ])
    expect(max_per_tenant).toBeGreaterThan(1_000)
    expect(brief(items)).toEqual([
      { tenant_id: south.id, provider: 'paygate', total: 2, failed: 2 },
      { tenant_id: at.clinic.id, provider: 'cardnet', total: 3, failed: 1 },
      { tenant_id: at.clinic.id, provider: 'paygate', total: 1, failed: 0 },
    ])
    expect(items[0]).toMatchObject({ tenant_name: expect.any(String), by_status: { succeeded: 0 } })
  })

  it('show administrators and auditors only their clinic', async () => {
    const { admin, auditor } = south.people
    for (const who of [admin, auditor])
      expect(brief((await stats(who)).items)).toEqual([
        { tenant_id: south.id, provider: 'paygate', total: 2, failed: 2 },
      ])
    expect((await at.get(STATS, admin, { tenant_id: at.clinic.id })).status).toBe(403)
  })

  it('cover the period of the query', async () => {
    const from_date = new Date(Date.now() - 60 * DAY).toISOString()
    const to_date = new Date(Date.now() - 2 * DAY).toISOString()
    const { from, items } = await stats(at.clinic.people.admin, { from_date, to_date })
    expect(from).toBe(from_date)
    expect(brief(items).toSorted((a, b) => (a.provider < b.provider ? -1 : 1))).toEqual([
      { tenant_id: at.clinic.id, provider: 'cardnet', total: 1, failed: 0 },
      { tenant_id: at.clinic.id, provider: 'paygate', total: 1, failed: 0 },
    ])
  })

  it('count a limited number of the latest payments of each clinic', async () => {
    const period = { from: '2020-01-01', until: '2120-01-01' }
    const count = (tx: TenantTx) => countByStatus(tx, period, 2)
    const counted = await at.service.app.db.acrossTenants(count, 'read')
    const totalOf = ({ id }: Clinic) =>
      counted.filter(({ tenant_id }) => tenant_id === id).reduce((sum, { count }) => sum + count, 0)
    // The latest payment of the first clinic is a test, which does not count.
    expect([totalOf(at.clinic), totalOf(south)]).toEqual([1, 2])
  })

  it('leave out deleted clinics', async () => {
    const gone = await makeClinic(at.service, at.root, 'gone')
    await pay(gone)
    const path = `/api/admin/tenants/${gone.id}`
    await at.service.call('DELETE', path, { token: at.root.token })
    const all = brief((await stats(at.root)).items)
    expect(all.map(({ tenant_id }) => tenant_id)).not.toContain(gone.id)
    expect((await stats(at.root, { tenant_id: gone.id })).items).toEqual([])
  })
})

describe('the list of notifications', () => {
  it('can be limited to one clinic by a superadmin', async () => {
    await at.settle(at.about('succeeded', 'pay_listed'))
    const list = '/api/admin/payment-notifications'
    const of = async (tenant_id: number) =>
      (await at.get(list, at.root, { tenant_id })).body.items as any[]
    expect((await of(at.clinic.id)).map(({ tenant_id }) => tenant_id)).toEqual([at.clinic.id])
    expect(await of(south.id)).toEqual([])
    const foreign = await at.get(list, south.people.admin, { tenant_id: at.clinic.id })
    expect(foreign.status).toBe(403)
  })
})
