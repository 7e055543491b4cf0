/**
 * A notification that is repeated during its verification. The service sends one request at a time, and one more at the
 * end.
 */
import { expect, test } from 'vitest'
import { DAY } from '../../src/lib/clock.ts'
import { eventually } from '../net/scene.ts'
import { until } from '../support/until.ts'
import { openPaidClinic, untilRow } from './clinic.ts'

test.each([
  ['a request slot is free', 0],
  ['all request slots are taken', 7],
])(
  'a notification that is repeated while it is verified is verified again, while %s',
  async (_what, others) => {
    const scene = await openPaidClinic()
    const { paygate } = scene
    const noticeOf = (id: string) =>
      paygate.noticeOf('payment.succeeded', {
        ...scene.pay(id, { status: 'pending' }),
        status: 'succeeded',
      })
    const notice = noticeOf('p1')
    await scene.send(notice)
    await untilRow(scene, { state: 'received', reason: 'not_confirmed', leased_until: null })
    // Simulates the last attempt: the notification is a day old, and many verifications have failed.
    await scene.service.database.sql('update payment_notifications set tries = 20')
    paygate.misbehave(() => 'stall')
    scene.service.clock.advance(DAY)
    await eventually('it is asked about again', () => paygate.open() === 1)
    for (let index = 0; index < others; index += 1) await scene.send(noticeOf(`other-${index}`))
    await eventually('the others are asked about', () => paygate.open() === 1 + others)

    expect(await scene.send(notice)).toMatchObject({ status: 200 })
    if (others === 0) {
      await scene.send(noticeOf('last'))
      await eventually(
        'the next is asked about',
        () => paygate.asked.at(-1)?.path.endsWith('last') === true,
      )
    }
    const asked = paygate.asked.filter(({ path }) => path === 'payments/p1')
    expect(asked).toHaveLength(2)

    paygate.misbehave(undefined)
    paygate.goOn()
    // The response that the API still owes was requested before the repeated notification.
    scene.pay('p1', { status: 'succeeded' })
    const row = await until('the repeat is asked about', async () => {
      const [first] = await scene.rows()
      return first?.state === 'received' ? undefined : first
    })
    expect(row).toMatchObject({ state: 'applied', times_received: 2, leased_until: null })
  },
)
