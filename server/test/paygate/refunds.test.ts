/** Refunds that paygate's API counts late. The sum in the payment may include only earlier refunds. */
import { expect, test } from 'vitest'
import { countOpen } from '../../src/features/payments/upkeep/upkeep.store.ts'
import { HOUR, SECOND } from '../../src/lib/clock.ts'
import { until } from '../support/until.ts'
import { openPaidClinic, type PaidClinic } from './clinic.ts'

const sum = (value: string) => ({ value, currency: 'EUR' })

function refund({ paygate, send }: PaidClinic, id: string) {
  const one = { id, payment_id: 'p1', status: 'succeeded', amount: sum('30.00') } as const
  paygate.refunds.set(id, one)
  return send(paygate.noticeOf('refund.succeeded', one))
}

/** Creates two refunds of the same amount. The refunded amount that the provider reports includes only the first. */
async function openLagging() {
  const scene = await openPaidClinic()
  const untilLast = (expected: Record<string, unknown>) =>
    until(JSON.stringify(expected), async () => {
      const row = (await scene.rows()).at(-1)
      return Object.entries(expected).every(([name, value]) => row?.[name] === value) || undefined
    })
  scene.pay('p1', { refunded_amount: sum('30.00') })
  await refund(scene, 'r1')
  await untilLast({ state: 'applied' })
  await refund(scene, 'r2')
  await untilLast({ state: 'received', reason: 'refund_not_counted', leased_until: null })
  return { ...scene, untilLast }
}

test('a second refund is verified again until the payment includes it', async () => {
  const scene = await openLagging()
  expect(await scene.payments()).toMatchObject([{ amount_refunded: 3_000 }])
  // During this time no operator has to act.
  const open = await scene.service.app.db.acrossTenants((tx) => countOpen(tx, 10), 'read')
  expect(open.filter(({ count }) => count > 0)).toMatchObject([
    { provider: 'paygate', state: 'received', count: 1, since: null },
  ])
  scene.pay('p1', { refunded_amount: sum('60.00') })
  scene.service.clock.advance(5 * SECOND)
  await scene.untilLast({ state: 'applied', reason: null })
  expect(await scene.payments()).toMatchObject([{ amount_refunded: 6_000 }])
})

test('a refund is superseded after 6 hours if the payment never includes it', async () => {
  const scene = await openLagging()
  // Simulates verification attempts during this whole time.
  await scene.service.database.sql(
    "update payment_notifications set tries = 20 where state = 'received'",
  )
  scene.service.clock.advance(6 * HOUR)
  await scene.untilLast({ state: 'superseded', reason: null })
  expect(await scene.payments()).toMatchObject([{ amount_refunded: 3_000 }])
})
