/** Repeats and whoever applies lock notifications in one order, so neither waits for the other in a circle. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openArrivals } from '../../src/features/payments/inbox/arrivals.ts'
import { type Claimed, lockClaimed } from '../../src/features/payments/inbox/claims.store.ts'
import { until } from '../support/embedded.ts'
import { openPaymentScene } from './scene.ts'

/** In the order of their bytes in UTF-8, which is another than that of their UTF-16. */
const FIRST = 'evt_\uffee'
const SECOND = 'evt_\u{1f600}'

/** Both in the inbox, the second one stored first, and the first one locked by somebody. */
async function openLocked() {
  const scene = await openPaymentScene({ role: 'api' })
  for (const id of [SECOND, FIRST]) await scene.send(scene.about('succeeded', 'pay', {}, { id }))
  const holder = new pg.Client({ connectionString: scene.service.database.url })
  await holder.connect()
  onTestFinished(() => holder.end())
  const lock = (id: string) =>
    holder.query('select from payment_notifications where event_key = $1 for update nowait', [id])
  await holder.query('begin')
  await lock(FIRST)
  return {
    scene,
    /** Waits until somebody waits for the first one; that the second is free then is what counts. */
    async expectFree(waiting: Promise<unknown>) {
      await until('it is waited for', async () => {
        const waits = await scene.service.database.sql(
          `select from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waits.length > 0 || undefined
      })
      await expect(lock(SECOND)).resolves.toMatchObject({ rowCount: 1 })
      await holder.query('rollback')
      await waiting
    },
  }
}

test('whoever applies locks them by their keys, not by when they came', async () => {
  const { scene, expectFree } = await openLocked()
  const claimed = await scene.service.database.sql(
    'select id, attempts, armed_at from payment_notifications order by id',
  )
  const { db } = scene.service.app
  await expectFree(db.acrossTenants((tx) => lockClaimed(tx, claimed as unknown as Claimed[])))
})

test('repeats lock them by the bytes of their keys', async () => {
  const { scene, expectFree } = await openLocked()
  const { service } = scene
  const nothing = () => undefined
  const arrivals = openArrivals({
    db: service.app.db,
    clock: service.clock,
    seals: {
      seal: async () => ({ sealed_body: Buffer.alloc(1), sealed_signature: null }),
    } as never,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  })
  const take = (event_key: string) =>
    arrivals.take({
      notice: { provider: 'cardnet', event_key, type: 'x', provider_payment_id: null },
      sent: { body: Buffer.alloc(1), signature: null },
      standing: 'verified',
    })
  await expectFree(Promise.all([take(SECOND), take(FIRST)]))
})
