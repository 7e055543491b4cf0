/** Repeated notifications and workers lock rows in the same order, so deadlocks cannot happen. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { type Claimed, lockClaimed } from '../../src/features/payments/inbox/claims.store.ts'
import { openSeals } from '../../src/features/payments/inbox/sealed.ts'
import {
  type ArrivalState,
  openArrivals,
} from '../../src/features/payments/inbox/store-arrivals.ts'
import { openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import { unheard } from '../sessions/scopes.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPaymentScene, type PaymentScene } from './scene.ts'

/** The order of these IDs as UTF-8 bytes differs from their order as UTF-16. */
const FIRST = 'evt_\uffee'
const SECOND = 'evt_\u{1f600}'

/** Stores two notifications, the second one first, and locks the first one. */
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
    /** Waits until the work waits for the first notification. Expects that the second is not locked. */
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

test('applying notifications locks their rows in the order of their keys, not of their arrival', async () => {
  const { scene, expectFree } = await openLocked()
  const claimed = await scene.service.database.sql(
    'select id, attempts, armed_at from payment_notifications order by id',
  )
  const { db } = scene.service.app
  await expectFree(db.acrossTenants((tx) => lockClaimed(tx, claimed as unknown as Claimed[])))
})

/** Creates the receiver of notifications for the scene's service, with a given verification. */
async function arrivalsOf({ service }: PaymentScene) {
  const nothing = () => undefined
  const { db } = service.app
  const arrivals = openArrivals({
    db,
    clock: service.clock,
    seals: openSeals(await openKeyRing(db, openSealer(ROOT_KEY), unheard)),
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  })
  return (event_key: string, state: ArrivalState) =>
    arrivals.take({
      notice: { provider: 'cardnet', event_key, type: 'x', provider_payment_id: null },
      sent: { body: Buffer.alloc(1), signature: null },
      state,
    })
}

test('storing repeated notifications locks their rows in the byte order of their keys', async () => {
  const { scene, expectFree } = await openLocked()
  const take = await arrivalsOf(scene)
  await expectFree(Promise.all([take(SECOND, 'verified'), take(FIRST, 'verified')]))
})

test('signed notifications are not delayed while unsigned ones wait for free space', async () => {
  const scene = await openPaymentScene({ role: 'api' })
  const take = await arrivalsOf(scene)
  const holder = new pg.Client({ connectionString: scene.service.database.url })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query(`select pg_advisory_lock(${LOCKS.unverifiedNotifications})`)
  const strangers = Promise.allSettled(
    Array.from({ length: 300 }, (_, n) => take(`stranger_${n}`, 'unverified')),
  )
  await until('the strangers wait', async () => {
    const waiting = await scene.service.database.sql(
      `select from pg_locks where locktype = 'advisory' and not granted and ${OF_THIS_DATABASE}`,
    )
    return waiting.length > 0 || undefined
  })
  await Promise.all([take('evt_signed', 'verified'), take('evt_hint', 'hint')])
  const stored = await scene.service.database.sql(
    'select event_key from payment_notifications order by 1',
  )
  expect(stored).toEqual([{ event_key: 'evt_hint' }, { event_key: 'evt_signed' }])
  await holder.query('select pg_advisory_unlock_all()')
  expect((await strangers).filter(({ status }) => status === 'rejected')).toEqual([])
})

test('only the notification that the database refuses is rejected, not the other ones of its batch', async () => {
  const scene = await openPaymentScene({ role: 'api' })
  const take = await arrivalsOf(scene)
  const keys = ['a', 'b', 'never\0stored', 'c', 'd']
  const taken = await Promise.allSettled(keys.map((key) => take(key, 'verified')))
  expect(taken.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ])
  const stored = await scene.service.database.sql(
    'select event_key, times_received from payment_notifications order by 1',
  )
  expect(stored).toEqual(
    ['a', 'b', 'c', 'd'].map((event_key) => ({ event_key, times_received: 1 })),
  )
})
