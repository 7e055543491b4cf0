/** Payments' own faults: what is stuck in the inbox, and what is behind the provider. */
import { expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../src/lib/clock.ts'
import { fixIn, scanAndConfirm } from '../support/fixes.ts'
import { SHOP } from '../support/paygate.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPaidClinic, settingsOf, untilRow } from './clinic.ts'

test('what is due and that nobody takes is told of after a while, and due again', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  const stuck = fixIn(scene.service, 'payments.stuck')
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  expect(await stuck.findings()).toEqual([])
  scene.service.clock.advance(16 * MINUTE)
  const [finding, ...others] = await stuck.findings()
  expect(others).toEqual([])
  const [row] = await scene.rows()
  expect(finding).toMatchObject({
    tenant_id: null,
    subject: `notification ${row?.id}`,
    measured: { provider: 'paygate', state: 'received', attempts: 0 },
  })
  expect(JSON.stringify(finding)).not.toContain('p1')
  expect(await scanAndConfirm(scene.service, 'payments.stuck')).toMatchObject([finding as never])
  expect(await stuck.repair(finding as never)).toBe('already gone')
})

test('what the provider did not confirm for a day is asked about again, and applied', async () => {
  const scene = await openPaidClinic()
  const stuck = fixIn(scene.service, 'payments.stuck')
  scene.paygate.misbehave(() => ({ status: 500 }))
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await untilRow(scene, { state: 'received', reason: 'provider_away' })
  expect(await stuck.findings()).toEqual([])
  await scene.service.database.sql(
    "update payment_notifications set tries = 10, armed_at = armed_at - interval '25 hours', due_at = now()",
  )
  scene.service.clock.advance(HOUR)
  await untilRow(scene, { state: 'failed', reason: 'provider_away' })
  const [finding] = await stuck.findings()
  expect(finding?.measured).toMatchObject({ state: 'failed', reason: 'provider_away' })
  scene.paygate.misbehave(undefined)
  expect(await stuck.repair(finding as never)).toBe('repaired')
  await untilRow(scene, { state: 'applied' })
  expect(await scene.payments()).toHaveLength(1)
  expect(await stuck.findings()).toEqual([])
})

test('a payment that cannot be applied is told of, tried again, and says why it fails', async () => {
  const scene = await openPaidClinic()
  const behind = fixIn(scene.service, 'payments.behind')
  const { id } = scene.clinic
  const path = `/api/admin/tenants/${id}`
  await scene.service.call('DELETE', path, { token: scene.root.token })
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await untilRow(scene, { state: 'failed', reason: 'unknown_tenant' })
  const [finding] = await behind.findings()
  expect(finding?.measured).toMatchObject({ provider: 'paygate', reason: 'unknown_tenant' })
  await expect(behind.repair(finding as never)).rejects.toThrow('there is no such tenant')
  expect(await behind.findings()).toHaveLength(1)
  await scene.service.database.sql('update tenants set deleted_at = null where id = $1', [id])
  expect(await scanAndConfirm(scene.service, 'payments.behind')).toMatchObject([
    { subject: finding?.subject, measured: { attempts: 2, reason: 'unknown_tenant' } },
  ])
  expect(await scene.payments()).toHaveLength(1)
  expect(await behind.repair(finding as never)).toBe('already gone')
})

test('a list that could not be read is told of, and read once the provider answers', async () => {
  const scene = await openPaidClinic({ config: { PAYGATE_RECONCILE_MINUTES: 60 } })
  const behind = fixIn(scene.service, 'payments.behind')
  const run = async () =>
    (await scene.service.database.sql<any>('select * from payment_reconciliations'))[0]
  await until('the list is read', async () => (await run())?.reconciled_to ?? undefined)
  expect(await behind.findings()).toEqual([])
  scene.paygate.changeKey('another')
  scene.pay('missed')
  for (const failures of [1, 2, 3]) {
    await scene.service.database.sql('update payment_reconciliations set due_at = now()')
    await until('a run has failed', async () => (await run()).failures >= failures || undefined)
  }
  const [finding] = await behind.findings()
  expect(finding).toMatchObject({
    tenant_id: null,
    subject: 'reconciliation with paygate',
    measured: { failures: 3, credentials_refused: true },
  })
  await expect(behind.repair(finding as never)).rejects.toThrow('refused the credentials')
  scene.paygate.changeKey(SHOP.key)
  expect(await behind.repair(finding as never)).toBe('repaired')
  expect([await behind.findings(), (await scene.payments()).length]).toEqual([[], 1])
})

test('a list that is read no more, as the provider was taken out of the configuration, is no fault', async () => {
  const scene = await openPaidClinic({ config: { PAYGATE_RECONCILE_MINUTES: 60 } })
  const { database } = scene.service
  await until('the list is read', async () => {
    const [run] = await database.sql<any>('select * from payment_reconciliations')
    return (run?.reconciled_to && run.leased_until === null) || undefined
  })
  await scene.service.close()
  const findingsWith = async (config: object) => {
    const node = await openService({ database, role: 'api', config })
    node.clock.advance(2 * HOUR)
    return (await fixIn(node, 'payments.behind').findings()).map(({ subject }) => subject)
  }
  const minutes = { PAYGATE_RECONCILE_MINUTES: 60 }
  expect(await findingsWith({ ...settingsOf(scene.paygate), ...minutes })).toEqual([
    'reconciliation with paygate',
  ])
  expect(await findingsWith(minutes)).toEqual([])
})
