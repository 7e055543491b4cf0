/** For how long a notice is asked about: a day in which somebody could ask, not one on the wall. */
import { expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../src/lib/clock.ts'
import { until } from '../support/embedded.ts'
import { SHOP } from '../support/paygate.ts'
import { openService } from '../support/service.ts'
import { openPaidClinic, settingsOf, untilRow } from './clinic.ts'

test('the day begins anew when the credentials are accepted again', async () => {
  const scene = await openPaidClinic()
  scene.paygate.changeKey('another')
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  let row = await untilRow(scene, { state: 'received', reason: 'provider_refused' })
  for (let round = 0; round < 6; round += 1) {
    const { attempts } = row
    scene.service.clock.advance(5 * HOUR)
    row = await until('it is tried again', async () => {
      const [now] = await scene.rows()
      return now && now.attempts > attempts && now.leased_until === null ? now : undefined
    })
    expect(row).toMatchObject({ state: 'received', reason: 'provider_refused', tries: 0 })
  }
  scene.paygate.changeKey(SHOP.key)
  scene.paygate.misbehave(() => ({ status: 500 }))
  scene.service.clock.advance(5 * MINUTE)
  const away = await until('it is asked about', async () => {
    const [now] = await scene.rows()
    return now?.reason === 'provider_away' ? now : undefined
  })
  expect(away).toMatchObject({ state: 'received', tries: 1 })
})

test('a day without anybody who could ask ends nothing', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await scene.service.database.sql(
    "update payment_notifications set armed_at = armed_at - interval '25 hours'",
  )
  scene.paygate.payments.clear()
  await openService({ database: scene.service.database, config: settingsOf(scene.paygate) })
  const row = await until('it is asked about', async () => {
    const [now] = await scene.rows()
    return now?.reason === 'not_confirmed' ? now : undefined
  })
  expect(row).toMatchObject({ state: 'received', tries: 1 })
})
