/**
 * A notification that cannot be applied. It blocks no other notification, and is applied once its payment is corrected.
 */
import { expect, onTestFinished, test } from 'vitest'
import type { Read } from '../../src/features/payments/applying/apply.ts'
import { startInboxWorker } from '../../src/features/payments/inbox/worker.ts'
import { makeClinic } from '../support/clinics.ts'
import { until } from '../support/until.ts'
import { openPaidClinic, untilRow } from './clinic.ts'

test('a payment whose tenant was corrected is applied to that tenant, and encrypted for that tenant', async () => {
  const scene = await openPaidClinic()
  const { clinic, root, service } = scene
  const payment = scene.pay('p1', { amount: { value: 'much', currency: 'EUR' } })
  const notice = scene.paygate.noticeOf('payment.succeeded', payment)
  await scene.send(notice)
  await untilRow(scene, { state: 'failed', reason: 'amount_unreadable', tenant_id: clinic.id })

  const other = await makeClinic(service, root, 'other')
  scene.pay('p1', {
    amount: { value: '100.00', currency: 'EUR' },
    metadata: { tenant_id: String(other.id) },
  })
  await scene.send(notice)
  const { id } = await untilRow(scene, { state: 'applied', tenant_id: other.id })
  expect(await scene.payments()).toMatchObject([{ tenant_id: other.id, status: 'succeeded' }])
  const read = await service.call('GET', `/api/admin/payment-notifications/${id}`, {
    token: other.people.admin.token,
  })
  expect(read).toMatchObject({ status: 200, body: { body: notice } })
})

test('a notification that the database refuses is logged, and the others are applied', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  for (const id of ['p1', 'p2', 'p3'])
    await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay(id)))
  const [, bad] = await scene.rows()
  const batches: (number | undefined)[][] = []
  const applied: (number | undefined)[] = []
  const apply = async (reads: readonly Read[]) => {
    const ids = reads.map(({ of }) => of?.claimed.id)
    batches.push(ids)
    if (ids.includes(bad?.id))
      throw Object.assign(new Error('refused'), { code: '23503', constraint: 'some__key' })
    applied.push(...ids)
    return []
  }
  const logged: unknown[] = []
  const at = (fields: unknown) => void logged.push(fields)
  const worker = startInboxWorker(
    {
      db: scene.service.app.db,
      clock: scene.service.clock,
      changes: { subscribe: () => () => undefined } as never,
      log: { debug: at, info: at, warn: at, error: at },
      seals: { open: async () => ({ body: Buffer.alloc(0), signature: null }) } as never,
      apply,
      onSettled: () => undefined,
    },
    { provider: 'paygate', read: () => ({ is: 'ignored' }), atOnce: 8 },
  )
  onTestFinished(() => worker.stop(0))
  await until('the others are applied', async () => applied.length === 2 || undefined)
  await until('it is logged', async () => JSON.stringify(logged).includes('23503') || undefined)
  expect(batches[0]).toHaveLength(3)
  expect(applied).not.toContain(bad?.id)
})
