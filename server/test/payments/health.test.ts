/** The health of the inbox on every node: which conditions degrade it. */
import { expect, test } from 'vitest'
import { countOpen } from '../../src/features/payments/upkeep/upkeep.store.ts'
import { MINUTE } from '../../src/lib/clock.ts'
import { openPaidClinic, settingsOf, untilRow } from '../paygate/clinic.ts'
import { superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPaymentScene } from './scene.ts'

async function checksOf(service: Service, token: string): Promise<Record<string, string>> {
  return (await service.call('GET', '/api/admin/health', { token })).body.checks
}

async function untilCheck(service: Service, expected: Record<string, string>): Promise<void> {
  const { token } = await superadmin(service)
  await until(`the health report says ${JSON.stringify(expected)}`, async () => {
    const checks = await checksOf(service, token)
    return Object.entries(expected).every(([name, is]) => checks[name] === is) || undefined
  })
}

test('the health report is degraded if a notification waits over 5 minutes, even if it is repeated while it waits', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  const notice = scene.paygate.noticeOf('payment.succeeded', scene.pay('p1'))
  await scene.send(notice)
  const [first] = await scene.rows()
  for (let minute = 1; minute <= 5; minute += 1) {
    scene.service.clock.advance(MINUTE)
    await scene.send(notice)
  }
  const [row] = await scene.rows()
  expect(row).toMatchObject({ times_received: 6, waiting_since: first?.waiting_since })
  expect(row?.armed_at).not.toEqual(first?.armed_at)
  scene.service.clock.advance(1000)
  await untilCheck(scene.service, { payments: 'degraded' })
})

test('the waiting time starts when a notification arrives, and again when a failed one is sent again', async () => {
  const scene = await openPaidClinic()
  const payment = scene.pay('p1', { metadata: {} })
  const notice = scene.paygate.noticeOf('payment.succeeded', payment)
  await scene.send(notice)
  expect(await untilRow(scene, { state: 'failed' })).toMatchObject({ waiting_since: null })
  scene.service.clock.advance(10 * MINUTE)
  scene.paygate.misbehave(() => ({ status: 500 }))
  await scene.send(notice)
  const again = await untilRow(scene, { state: 'received', reason: 'provider_away' })
  expect(again.waiting_since).toEqual(again.armed_at)
})

test('refused credentials are reported on every node, even on a node without requests', async () => {
  const scene = await openPaidClinic()
  const api = await openService({
    database: scene.service.database,
    config: settingsOf(scene.paygate),
  })
  await untilCheck(api, { payments: 'ok', paygate: 'ok' })
  scene.paygate.changeKey('another')
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await untilRow(scene, { state: 'received', reason: 'provider_refused' })
  await untilCheck(api, { paygate: 'degraded' })
  await untilCheck(scene.service, { paygate: 'degraded' })
})

test('a refused reconciliation is reported on every node', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  const config = { ...settingsOf(scene.paygate), PAYGATE_RECONCILE_MINUTES: 60 }
  const { database } = scene.service
  const api = await openService({ database, config })
  scene.paygate.changeKey('another')
  await openService({ background: ['payments'], database, config })
  await untilCheck(api, { paygate: 'degraded' })
})

test('notifications of a deleted tenant do not affect the health report', async () => {
  const at = await openPaymentScene({ background: ['jobs', 'payments'] })
  await at.settle(at.about('succeeded', 'pay_odd', { amount: 'much' }))
  await untilCheck(at.service, { payments: 'degraded' })
  const { token } = at.root
  const deleted = await at.service.call('DELETE', `/api/admin/tenants/${at.clinic.id}`, { token })
  expect(deleted.status, JSON.stringify(deleted.body)).toBe(204)
  await untilCheck(at.service, { payments: 'ok' })
})

test('the numbers in the health report have an upper limit', async () => {
  const at = await openPaymentScene({ role: 'api' })
  for (const id of ['a', 'b', 'c']) await at.send(at.about('succeeded', id))
  const counts = await at.service.app.db.acrossTenants((tx) => countOpen(tx, 2), 'read')
  expect(counts.find(({ state, count }) => state === 'received' && count > 0)?.count).toBe(2)
})
