/**
 * The service retries the verification of a notification for a day. Only the time in which it could query the API
 * counts.
 */
import { describe, expect, test } from 'vitest'
import { tidyInbox } from '../../src/features/payments/upkeep/payments.jobs.ts'
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts'
import { SHOP } from '../support/paygate.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPaidClinic, settingsOf, untilRow } from './clinic.ts'

test('the day after which a notification fails starts again when the API accepts the credentials again', async () => {
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

test('the day after which a notification fails does not include time in which no node could query the API', async () => {
  const scene = await openPaidClinic({ role: 'api' })
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await scene.service.database.sql(
    "update payment_notifications set armed_at = armed_at - interval '25 hours'",
  )
  scene.paygate.payments.clear()
  await openService({
    background: ['payments'],
    database: scene.service.database,
    config: settingsOf(scene.paygate),
  })
  const row = await until('it is asked about', async () => {
    const [now] = await scene.rows()
    return now?.reason === 'not_confirmed' ? now : undefined
  })
  expect(row).toMatchObject({ state: 'received', tries: 1 })
})

describe('a notification that is still pending after the retention period', () => {
  /** Creates a notification whose verification the API has refused. No node queries the API any more. */
  async function openForgotten(isAsked: boolean) {
    const scene = await openPaidClinic({ role: 'api' })
    scene.paygate.changeKey('another')
    const { database, app, clock } = scene.service
    const worker = await openService({
      background: ['payments'],
      database,
      config: settingsOf(scene.paygate),
    })
    await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
    const row = await untilRow(scene, { state: 'received', reason: 'provider_refused' })
    await worker.close()
    const tidy = (days: number) => {
      const deps = { db: app.db, clock: { now: () => clock.now() + days * DAY }, keepDays: 30 }
      return tidyInbox({ ...deps, isAsked }, new AbortController().signal)
    }
    const process = () =>
      scene.service.call('POST', `/api/admin/payment-notifications/${row.id}/process`, {
        token: scene.root.token,
      })
    return { ...scene, tidy, process }
  }

  test('fails, can be retried once, and is deleted by the next upkeep', async () => {
    const { rows, tidy, process } = await openForgotten(true)
    await tidy(29.9)
    expect(await rows()).toMatchObject([{ state: 'received' }])
    await tidy(30.1)
    expect(await rows()).toMatchObject([
      { state: 'failed', reason: 'provider_refused', due_at: null, waiting_since: null },
    ])
    expect(await process()).toMatchObject({ status: 200, body: { state: 'received' } })
    await tidy(30.1)
    expect(await rows()).toMatchObject([{ state: 'failed' }])
    // Simulates a retry of the job after a shutdown.
    await tidy(30.1)
    expect(await rows()).toHaveLength(1)
    await tidy(30.2)
    expect(await rows()).toEqual([])
  })

  test('fails as not configured if its provider was removed from the configuration', async () => {
    const { rows, tidy } = await openForgotten(false)
    await tidy(30.1)
    expect(await rows()).toMatchObject([{ state: 'failed', reason: 'not_configured' }])
  })

  test('is left to the node that is verifying it', async () => {
    const { rows, tidy, service } = await openForgotten(true)
    await service.database.sql(
      "update payment_notifications set leased_until = now() + interval '31 days'",
    )
    await tidy(30.1)
    expect(await rows()).toMatchObject([{ state: 'received', reason: 'provider_refused' }])
  })
})

describe('a notification that can never be applied', () => {
  const processBy = (node: Service, id: number, token: string) =>
    node.call('POST', `/api/admin/payment-notifications/${id}/process`, { token })

  test('fails on a manual retry if its provider is no longer configured', async () => {
    const scene = await openPaidClinic({ role: 'api' })
    const { database } = scene.service
    await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
    const { id } = await untilRow(scene, { state: 'received' })
    const { token } = scene.root
    expect(await processBy(scene.service, id, token)).toMatchObject({
      status: 409,
      body: { code: 'notification_settled' },
    })
    const bare = await openService({ database })
    for (const _again of [1, 2])
      expect(await processBy(bare, id, token)).toMatchObject({
        status: 200,
        body: { state: 'failed', reason: 'not_configured', processed_at: expect.any(String) },
      })
    expect((await processBy(scene.service, id, token)).body).toMatchObject({ state: 'received' })
  })

  test('fails if it cannot be decrypted, instead of being claimed forever', async () => {
    const scene = await openPaidClinic({ role: 'api' })
    const { database } = scene.service
    await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
    await database.sql(
      'update payment_notifications set sealed_body = set_byte(sealed_body, 50, get_byte(sealed_body, 50) # 1)',
    )
    await openService({ background: ['payments'], database, config: settingsOf(scene.paygate) })
    await untilRow(scene, { state: 'failed', reason: 'does_not_open', attempts: 1 })
  })
})
