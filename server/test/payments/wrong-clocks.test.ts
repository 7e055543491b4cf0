/** Nodes with wrong clocks delay no notification, either directly or through the times that they store. */
import { expect, test } from 'vitest'
import { tidyInbox } from '../../src/features/payments/upkeep/payments.jobs.ts'
import { HOUR } from '../../src/lib/clock.ts'
import { openPaidClinic, type PaidClinic, settingsOf, untilRow } from '../paygate/clinic.ts'
import { openService, type Service } from '../support/service.ts'
import { openPaymentScene } from './scene.ts'

test("notifications are processed immediately on other nodes even if the receiving node's clock is ahead", async () => {
  const ahead = await openPaymentScene({ role: 'api' })
  ahead.service.clock.advance(2 * HOUR)
  await openService({ background: ['payments'], database: ahead.service.database })
  expect(await ahead.settle(ahead.about('succeeded', 'pay_ahead'))).toMatchObject({
    state: 'applied',
  })
})

const tidy = ({ app, clock }: Service) =>
  tidyInbox({ db: app.db, clock, keepDays: 30, isAsked: true }, new AbortController().signal)

/** Creates a notification whose next verification was set by a node whose clock was hours ahead. */
async function openHeldUp(): Promise<PaidClinic> {
  const scene = await openPaidClinic({ role: 'api' })
  const { database } = scene.service
  const config = settingsOf(scene.paygate)
  const ahead = await openService({ background: ['payments'], database, config })
  ahead.clock.advance(5 * HOUR)
  scene.paygate.misbehave(() => ({ status: 500 }))
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await untilRow(scene, { state: 'received', reason: 'provider_away' })
  await ahead.close()
  scene.paygate.misbehave(undefined)
  return scene
}

test('a notification that a wrong clock has delayed for hours becomes due again', async () => {
  const scene = await openHeldUp()
  expect(await scene.rows()).toMatchObject([{ state: 'received', reason: 'provider_away' }])
  await tidy(scene.service)
  const { database } = scene.service
  await openService({ background: ['payments'], database, config: settingsOf(scene.paygate) })
  await untilRow(scene, { state: 'applied' })
})

test('notifications that are leased or wait for a regular retry do not become due early', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await scene.service.database.sql(`update payment_notifications
    set due_at = now() + interval '30 minutes', leased_until = now() + interval '1 minute'`)
  const before = await scene.rows()
  await tidy(scene.service)
  expect(await scene.rows()).toEqual(before)
})
