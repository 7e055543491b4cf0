/**
 * Kills the service with SIGKILL while it queries paygate's API. It verifies the notifications that it has answered
 * with 200 again.
 */
import { expect, test } from 'vitest'
import { eventually } from '../net/scene.ts'
import { query } from '../support/embedded.ts'
import { openPaygateApi, SHOP } from '../support/paygate.ts'
import { PLAIN, startService, tokenOf } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

test('a service killed during verification loses no notification, and applies none twice', {
  timeout: 180_000,
}, async () => {
  const paygate = await openPaygateApi()
  const dataDir = await scratch()
  const env = {
    ...PLAIN,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'warn',
    PAYGATE_API_URL: paygate.url,
    PAYGATE_SHOP_ID: SHOP.id,
    PAYGATE_SECRET_KEY: SHOP.key,
    PAYGATE_ALLOWED_NETWORKS: '127.0.0.1',
    PAYGATE_RECONCILE_MINUTES: '0',
  }
  const database = {
    host: `${dataDir}/run`,
    port: 5432,
    user: 'wardkeep_owner',
    database: 'wardkeep',
  }
  const first = await startService(env)
  const clinic = await first.call('POST', '/api/admin/tenants', {
    token: await tokenOf(first),
    body: { name: 'Clinic', subdomain: 'clinic' },
  })
  paygate.misbehave(() => 'stall')
  for (let index = 0; index < 12; index += 1) {
    const metadata = { tenant_id: String(clinic.body.id) }
    const payment = paygate.put({ id: `p${index}`, metadata })
    const body = JSON.parse(paygate.noticeOf('payment.succeeded', payment))
    const answer = await first.call('POST', '/webhooks/paygate', { body })
    expect(answer).toMatchObject({ status: 200, body: { received: true } })
  }
  await eventually('eight are asked about', () => paygate.open() === 8)
  first.signal('SIGKILL')
  await first.ended

  paygate.misbehave(undefined)
  const second = await startService(env)
  // Expires the leases of the dead process. Without this, the test would take a minute.
  await query(
    database,
    "update payment_notifications set leased_until = now() where state = 'received'",
  )
  const states = () =>
    query<{ state: string; count: number }>(
      database,
      'select state, count(*)::integer as count from payment_notifications group by state',
    )
  await until(
    'all are applied',
    async () => (await states()).every(({ state }) => state === 'applied') || undefined,
    30_000,
  )
  expect(await states()).toEqual([{ state: 'applied', count: 12 }])
  const told = await query(
    database,
    `select changes -> 'after' ->> 'provider_payment_id' as id from journal
     where action = 'payment.succeeded'`,
  )
  expect(told.map(({ id }) => id).sort()).toEqual(
    Array.from({ length: 12 }, (_, index) => `p${index}`).sort(),
  )
  await second.stop()
})
