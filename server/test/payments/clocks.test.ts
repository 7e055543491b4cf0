/** Nodes whose clocks are wrong hold nothing up: neither while they are, nor by what they have written. */
import { expect, test } from 'vitest'
import { tidyInbox } from '../../src/features/payments/upkeep/payments.jobs.ts'
import { HOUR } from '../../src/lib/clock.ts'
import { openPaidClinic, type PaidClinic, settingsOf, untilRow } from '../paygate/clinic.ts'
import { fixIn } from '../support/fixes.ts'
import { openService, type Service } from '../support/service.ts'
import { openPaymentScene } from './scene.ts'

test('what a node takes in whose clock is ahead is worked on by the others at once', async () => {
  const ahead = await openPaymentScene({ role: 'api' })
  ahead.service.clock.advance(2 * HOUR)
  await openService({ background: ['payments'], database: ahead.service.database })
  expect(await ahead.settle(ahead.about('succeeded', 'pay_ahead'))).toMatchObject({
    state: 'applied',
  })
})

const tidy = ({ app, clock }: Service) =>
  tidyInbox({ db: app.db, clock, keepDays: 30, isAsked: true }, new AbortController().signal)

async function repair(service: Service): Promise<void> {
  const stuck = fixIn(service, 'payments.stuck')
  const [finding, ...others] = await stuck.findings()
  expect(others).toEqual([])
  expect(await stuck.repair(finding as never)).toBe('repaired')
}

/** A notice that a node was to ask about again when its clock, which was hours ahead, would have it so. */
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

test.each([
  ['the upkeep', tidy],
  ['a repair', repair],
])('what a wrong clock has put off for hours is freed by %s', async (_what, free) => {
  const scene = await openHeldUp()
  expect(await scene.rows()).toMatchObject([{ state: 'received', reason: 'provider_away' }])
  await free(scene.service)
  const { database } = scene.service
  await openService({ background: ['payments'], database, config: settingsOf(scene.paygate) })
  await untilRow(scene, { state: 'applied' })
  expect(await fixIn(scene.service, 'payments.stuck').findings()).toEqual([])
})

test('what waits for its next try, or is leased, is left to that', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await scene.service.database.sql(`update payment_notifications
    set due_at = now() + interval '30 minutes', leased_until = now() + interval '1 minute'`)
  const before = await scene.rows()
  await tidy(scene.service)
  expect(await scene.rows()).toEqual(before)
  expect(await fixIn(scene.service, 'payments.stuck').findings()).toEqual([])
})
