/**
 * Leases on notifications. A worker that has lost its lease changes nothing, and a failing worker does not block other
 * notifications.
 */
import { expect, onTestFinished, test } from 'vitest'
import { applier } from '../../src/features/payments/applying/apply.ts'
import { startDrain } from '../../src/features/payments/inbox/apply-waiting.ts'
import {
  type Claimed,
  claimNotifications,
  releaseNotifications,
} from '../../src/features/payments/inbox/claims.store.ts'
import type { PaymentReading } from '../../src/features/payments/payment-facts.ts'
import { HOUR, isoAt, MINUTE } from '../../src/lib/clock.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPaymentScene, type PaymentScene } from './scene.ts'

const SENT = { body: Buffer.from('{}'), signature: null }
const IGNORED: PaymentReading = { is: 'ignored' }
const FAILED: PaymentReading = { is: 'failed', reason: 'unreadable' }

/** Creates a notification that was claimed twice. The second claim came after the first lease had expired. */
async function openLate() {
  const at = await openPaymentScene({ role: 'api' })
  const { clock, app } = at.service
  const told = at.about('succeeded', 'pay_late')
  await at.send(told)
  const claimOne = async () => {
    const lease = { now: isoAt(clock), until: isoAt(clock, MINUTE) }
    const [one] = await app.db.acrossTenants((tx) => claimNotifications(tx, 'cardnet', lease, 10))
    return one
  }
  const late = (await claimOne()) as Claimed
  expect(await claimOne()).toBeUndefined()
  clock.advance(HOUR)
  const holder = (await claimOne()) as Claimed
  const apply = applier({ db: app.db, clock, seals: undefined as never })
  return {
    late,
    holder,
    release: (claimed: Claimed) =>
      app.db.acrossTenants((tx) => releaseNotifications(tx, [claimed])),
    apply: (claimed: Claimed, reading: PaymentReading) =>
      apply([{ reading, of: { claimed, sent: SENT } }]),
    row: async () => (await at.rowsOf(told.id))[0],
  }
}

test('a worker has no effect once another worker took its lease, before or after the other one ends', async () => {
  const { late, holder, apply, release, row } = await openLate()
  const before = await row()
  expect(before).toMatchObject({ state: 'received', attempts: 2 })
  expect(await apply(late, FAILED)).toEqual([])
  await release(late)
  expect(await row()).toEqual(before)
  expect(await apply(holder, IGNORED)).toMatchObject([{ state: 'ignored' }])
  const settled = await row()
  expect(settled).toMatchObject({ state: 'ignored', attempts: 2, leased_until: null })
  expect(await apply(late, FAILED)).toEqual([])
  expect(await apply(holder, FAILED)).toEqual([])
  await release(holder)
  expect(await row()).toEqual(settled)
})

/** Processes the scene's notifications. The reader fails for certain IDs. */
function drain(at: PaymentScene, read: (body: string) => PaymentReading) {
  const { app, clock } = at.service
  const logged: unknown[] = []
  const log = (fields: unknown, what?: unknown) => void logged.push([fields, what])
  const worker = startDrain(
    {
      db: app.db,
      clock,
      changes: { subscribe: () => () => undefined } as never,
      log: { debug: log, info: log, warn: log, error: log },
      seals: {
        open: async (_tx: unknown, one: Claimed) => ({ ...SENT, body: Buffer.from(`${one.id}`) }),
      } as never,
      apply: applier({ db: app.db, clock, seals: undefined as never }),
      onSettled: () => undefined,
    },
    'cardnet',
    ({ body }) => read(String(body)),
  )
  onTestFinished(() => worker.stop(0))
  return logged
}

test('an unreadable notification is retried after its lease, and blocks no other notification', async () => {
  const at = await openPaymentScene({ role: 'api' })
  const sent = ['a', 'b', 'c'].map((id) => at.about('succeeded', id))
  for (const told of sent) await at.send(told)
  const rows = () => at.service.database.sql('select * from payment_notifications order by id')
  const bad = String((await rows())[1]?.id)
  let isBad = true
  const logged = drain(at, (body) => {
    if (isBad && body === bad) throw new Error('a reader that trips')
    return IGNORED
  })
  const states = async () => (await rows()).map(({ state }) => state)
  await until(
    'the others are settled',
    async () => (await states()).join() === 'ignored,received,ignored' || undefined,
  )
  expect(await rows()).toMatchObject([{}, { attempts: 1, leased_until: expect.any(String) }, {}])
  expect(JSON.stringify(logged.map(([, what]: any) => what))).toContain('one by one')
  isBad = false
  at.service.clock.advance(HOUR)
  await until('it is settled', async () => (await states())[1] === 'ignored' || undefined)
  expect(await rows()).toMatchObject([{}, { attempts: 2, leased_until: null }, {}])
})

test.each([
  ['its key is available again', (at: PaymentScene, id: number) => at.process(id)],
  ['it is sent again', (at: PaymentScene, _id: number, told: object) => at.send(told)],
])(
  'an undecryptable notification stays failed until %s, and blocks no other notification',
  async (what, mend) => {
    const at = await openPaymentScene({ role: 'api' })
    const [lost, other] = [at.about('succeeded', 'pay_lost'), at.about('succeeded', 'pay_beside')]
    for (const told of [lost, other]) await at.send(told)
    const { database } = at.service
    const flip = () =>
      database.sql(
        `update payment_notifications set sealed_body = set_byte(sealed_body, 50, get_byte(sealed_body, 50) # 1)
       where event_key = $1`,
        [lost.id],
      )
    await flip()
    await openService({ background: ['payments'], database })
    await at.untilSettled()
    expect(await at.rowsOf(other.id)).toMatchObject([{ state: 'applied' }])
    const [row] = await at.rowsOf(lost.id)
    expect(row).toMatchObject({ state: 'failed', reason: 'does_not_open', due_at: null })
    const stays = { status: 200, body: { state: 'failed', reason: 'does_not_open' } }
    expect(await at.process(row?.id)).toMatchObject(stays)
    if (what === 'its key is available again') await flip()
    expect(await mend(at, row?.id, lost)).toMatchObject({ status: 200 })
    await at.untilSettled()
    expect(await at.rowsOf(lost.id)).toMatchObject([{ state: 'applied', reason: null }])
  },
)
