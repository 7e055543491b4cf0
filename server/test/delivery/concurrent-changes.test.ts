/** A queue or a delivery changes while a process works on it. */
import { sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { queueAgain } from '../../src/features/webhooks/deliveries/deliveries.store.ts'
import {
  claimQueues,
  renewLeases,
  saveQueues,
} from '../../src/features/webhooks/engine/claims.store.ts'
import {
  type DeliveryResult,
  type DueDelivery,
  findDue,
  recordResults,
} from '../../src/features/webhooks/engine/deliveries.store.ts'
import { insertDeliveries } from '../../src/features/webhooks/engine/fan-out.store.ts'
import { resetCircuit } from '../../src/features/webhooks/engine/queues.store.ts'
import { retryWaiting } from '../../src/features/webhooks/webhooks.jobs.ts'
import { MINUTE } from '../../src/lib/clock.ts'
import { gate } from '../sessions/scopes.ts'
import { until } from '../support/until.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let webhook: TestWebhook

beforeEach(async () => {
  scene = await openScene()
  webhook = await scene.webhook(await scene.tenant(), 'https://receiver.test/')
})

const iso = (offset = 0) => new Date(scene.clock.now() + offset).toISOString()

describe('a webhook queue that another transaction has locked', () => {
  test('is neither renewed nor lost, and delays no other queue', async () => {
    const other = await scene.webhook(webhook.tenant_id, webhook.url)
    await scene.database.sql('update webhook_queues set due_at = $1', [iso()])
    const claim = { worker: 'one', limit: 2, now: iso() }
    const claimed = await scene.db.acrossTenants((tx) => claimQueues(tx, claim))
    const queues = claimed.map(({ webhook_id, ...queue }) => ({ ...queue, id: webhook_id }))
    const { pass, open } = gate()
    let isLocked = false
    const locking = scene.db.acrossTenants(async (tx) => {
      const ofWebhook = tx.db.selectFrom('webhook_queues').where('webhook_id', '=', webhook.id)
      await ofWebhook.select('webhook_id').forUpdate().execute()
      isLocked = true
      await pass
    })
    onTestFinished(() => locking)
    await until('it is locked', () => isLocked || undefined)
    const renewed = await scene.db.acrossTenants((tx) => renewLeases(tx, queues))
    expect(renewed.find(({ id }) => id === webhook.id)).toMatchObject({
      isRenewed: false,
      isLost: false,
    })
    expect(renewed.find(({ id }) => id === other.id)).toMatchObject({ isRenewed: true })
    const failing = queues.map((queue) => ({ ...queue, failures: 3 }))
    const saved = await scene.db.acrossTenants((tx) => saveQueues(tx, failing))
    expect([...saved]).toEqual([other.id])
    expect([(await scene.queue(webhook)).failures, (await scene.queue(other)).failures]).toEqual([
      0, 3,
    ])
    open()
  })
})

/** Returns a delivery after `count` attempts, as the worker reads it before the next attempt. */
async function tried(count = 3): Promise<DueDelivery> {
  const event = await scene.event(webhook.tenant_id)
  const [delivery] = await scene.db.acrossTenants(async (tx) => {
    const { tenant_id } = webhook
    const events = [{ ...event, tenant_id, action: 'department.updated' }]
    insertDeliveries(tx, events, [webhook.id], iso(-MINUTE))
    await sql`update webhook_deliveries set attempts = ${count}, retry_step = ${count}`.execute(
      tx.db,
    )
    return findDue(tx, [{ id: webhook.id, limit: 1 }], iso())
  })
  if (!delivery) throw new Error('one was made')
  return delivery
}

const ATTEMPT = {
  duration_ms: 1,
  status_code: 500,
  error: null,
  detail: null,
  address: null,
  response_body: null,
  retry_after: null,
}

/** Records the result of an attempt that began before the queue was reset. */
const record = (delivery: DueDelivery, status: DeliveryResult['status'], due_at: string | null) => {
  const attempt = { ...ATTEMPT, started_at: iso() }
  const result = { delivery, attempt, status, due_at, resets: 0 }
  return scene.db.acrossTenants(async (tx) => recordResults(tx, [result], iso()))
}

describe.each([0, 3])(
  'a delivery that is queued again during its attempt after %i earlier attempts',
  (count) => {
    /** Returns a delivery like `tried`. After it was read, its attempts are reset in the database. */
    async function queuedAgain(): Promise<DueDelivery> {
      const delivery = await tried(count)
      await scene.db.inTenant(webhook.tenant_id, (tx) => queueAgain(tx, delivery, iso()))
      return delivery
    }

    test.each([
      ['pending', 30 * MINUTE],
      ['failed', null],
    ] as const)(
      'keeps all its new attempts if the running attempt ends as %s',
      async (status, wait) => {
        const delivery = await queuedAgain()
        const [before] = await scene.deliveries(webhook)
        await record(delivery, status, wait === null ? null : iso(wait))
        expect(await scene.deliveries(webhook)).toEqual([{ ...before, attempts: count + 1 }])
        expect(before).toMatchObject({ status: 'pending', retry_step: 0 })
        expect(await scene.attempts(webhook)).toMatchObject([{ number: count + 1 }])
      },
    )

    test('is delivered if the running attempt succeeds', async () => {
      const delivery = await queuedAgain()
      await record(delivery, 'delivered', null)
      expect(await scene.deliveries(webhook)).toMatchObject([
        {
          status: 'delivered',
          attempts: count + 1,
          due_at: null,
          finished_at: expect.any(String),
        },
      ])
    })
  },
)

describe('a delivery whose webhook gets another URL during an attempt', () => {
  const reset = () => scene.db.acrossTenants((tx) => resetCircuit(tx, webhook.id, iso()))

  test.each([
    ['pending', 30 * MINUTE],
    ['failed', null],
  ] as const)(
    'is due immediately with all its attempts left if the running attempt ends as %s',
    async (status, wait) => {
      const delivery = await tried()
      await reset()
      await record(delivery, status, wait === null ? null : iso(wait))
      expect(await scene.deliveries(webhook)).toMatchObject([
        { status: 'pending', attempts: 4, retry_step: 0, finished_at: null },
      ])
      const due = await scene.db.acrossTenants((tx) =>
        findDue(tx, [{ id: webhook.id, limit: 1 }], iso()),
      )
      expect(due).toHaveLength(1)
    },
  )

  test('is delivered if the running attempt succeeds', async () => {
    const delivery = await tried()
    await reset()
    await record(delivery, 'delivered', null)
    expect(await scene.deliveries(webhook)).toMatchObject([{ status: 'delivered', due_at: null }])
  })

  test('keeps the result of an attempt at the new URL', async () => {
    const delivery = await tried()
    await reset()
    await scene.database.sql('update webhook_deliveries set attempts = 4, retry_step = 1')
    const before = await scene.deliveries(webhook)
    await record(delivery, 'pending', iso(MINUTE))
    expect(await scene.deliveries(webhook)).toEqual(before)
  })
})

describe('retrying pending deliveries after a receiver recovers', () => {
  const retryAll = (at: string) =>
    retryWaiting(scene, { ...webhook, at }, new AbortController().signal)

  test('skips deliveries that are due or that were attempted after the recovery', async () => {
    const at = iso(-MINUTE)
    const delivery = await tried(0)
    const before = await scene.deliveries(webhook)
    await retryAll(at)
    expect(await scene.deliveries(webhook)).toEqual(before)
    await record(delivery, 'pending', iso(MINUTE))
    const refused = await scene.deliveries(webhook)
    await retryAll(at)
    expect(await scene.deliveries(webhook)).toEqual(refused)
    await retryAll(iso(1))
    expect(await scene.deliveries(webhook)).toMatchObject([{ attempts: 1, retry_step: 0 }])
  })

  test('includes a delivery whose attempt at the former URL is just being recorded', async () => {
    const delivery = await tried(0)
    const [locked, end] = [gate(), gate()]
    const holding = scene.db.acrossTenants(async (tx) => {
      await sql`select from webhook_deliveries for update`.execute(tx.db)
      locked.open()
      await end.pass
    })
    await locked.pass
    const waiting = (type: string) => async () => {
      const [lock] = await scene.database.sql(
        `select from pg_locks where not granted and locktype = $1
           and pid in (select pid from pg_stat_activity where datname = current_database())`,
        [type],
      )
      return lock
    }
    const recorded = record(delivery, 'pending', iso(30 * MINUTE))
    await until('the try is being written down', waiting('transactionid'))
    const at = iso()
    await scene.db.acrossTenants((tx) => resetCircuit(tx, webhook.id, at))
    let isDone = false
    const retried = retryAll(at).then(() => {
      isDone = true
    })
    await until('what waits is looked for', async () => isDone || waiting('advisory')())
    end.open()
    await Promise.all([holding, recorded, retried])
    const [row] = await scene.deliveries(webhook)
    expect(row).toMatchObject({ attempts: 1, retry_step: 0 })
    expect(Date.parse(row?.due_at)).toBeLessThanOrEqual(scene.clock.now())
  })
})

describe('a webhook of a deleted tenant', () => {
  const claim = () =>
    scene.db.acrossTenants((tx) => claimQueues(tx, { worker: 'one', limit: 9, now: iso() }))

  const deletedAgo = (age: string) =>
    scene.database.sql(`update tenants set deleted_at = now() - $1::interval where id = $2`, [
      age,
      webhook.tenant_id,
    ])

  beforeEach(async () => {
    await scene.database.sql('update webhook_queues set due_at = $1', [iso()])
  })

  test('still receives the event about the deletion', async () => {
    await deletedAgo('59 minutes')
    expect(await claim()).toHaveLength(1)
  })

  test('is sent nothing more after an hour, until the tenant is restored', async () => {
    await deletedAgo('61 minutes')
    expect(await claim()).toEqual([])
    await scene.database.sql('update tenants set deleted_at = null')
    expect(await claim()).toHaveLength(1)
  })
})
