/** A replay that is cancelled while one of its messages is being sent. */
import { beforeEach, describe, expect, test } from 'vitest'
import { cancelReplay, runReplay } from '../../src/features/webhooks/replays/replays.service.ts'
import { advanceReplay, insertReplay } from '../../src/features/webhooks/replays/replays.store.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { gate } from '../sessions/scopes.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { type DeliveryNode, startNode } from './node.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

const { signal } = new AbortController()

let scene: Scene
let receiver: Receiver
let webhook: TestWebhook
let event: { id: number; created_at: string }
let node: DeliveryNode
/** Responds to the message that is being sent. */
let answer: (status: number) => void

beforeEach(async () => {
  scene = await openScene()
  const tenant = await scene.tenant()
  // The event is older than the webhook, so only the replay delivers it.
  event = await scene.event(tenant)
  const { pass, open } = gate()
  let status = 200
  answer = (given) => {
    status = given
    open()
  }
  receiver = await openReceiver({
    clock: scene.clock,
    answer: async () => {
      await pass
      return { status }
    },
  })
  webhook = await scene.webhook(tenant, receiver.url)
  await scene.database.sql(
    "update webhooks set created_at = $1::timestamptz + interval '1 millisecond' where id = $2",
    [event.created_at, webhook.id],
  )
  node = await startNode(scene)
})

const iso = () => new Date(scene.clock.now()).toISOString()

/** Requests and queues a replay, waits until one of its messages is being sent, and then cancels the replay. */
async function cancelUnderWay(): Promise<void> {
  const { db } = scene
  const { id: webhook_id, tenant_id } = webhook
  const order = {
    tenant_id,
    webhook_id,
    since: event.created_at,
    until: event.created_at,
    actor: SYSTEM,
  }
  const { id } = await db.inTenant(tenant_id, (tx) => insertReplay(tx, order))
  await runReplay(scene, { id, tenant_id }, signal)
  await until('the message is under way', () => receiver.open() > 0 || undefined)
  await db.inTenant(tenant_id, (tx) =>
    advanceReplay(tx, id, { state: 'cancelled', finished_at: iso() }),
  )
  await cancelReplay(scene, { id, tenant_id, webhook_id }, signal)
}

/** Responds to the message with this status, and waits until the result is recorded. */
async function end(status: number): Promise<void> {
  answer(status)
  await node.stop(20_000)
  expect(receiver.received).toHaveLength(1)
}

const numbers = async () => (await scene.attempts(webhook)).map(({ number }) => number)

describe('a replay of a failed delivery that is cancelled while the message is being sent', () => {
  beforeEach(async () => {
    const key = [webhook.tenant_id, webhook.id, event.id, event.created_at]
    const { sql } = scene.database
    await sql('select ensure_webhook_partitions($1::date - 1, $1::date + 1)', [event.created_at])
    await sql(
      `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, status,
         attempts, retry_step, finished_at)
       values ($1, $2, $3, $4, 'department.updated', 'failed', 1, 1, now())`,
      key,
    )
    await sql(
      `insert into webhook_attempts (tenant_id, webhook_id, entry_id, event_at, number, started_at,
         duration_ms, status_code, error)
       values ($1, $2, $3, $4, 1, now(), 1, 500, 'status')`,
      key,
    )
  })

  test('marks the delivery as delivered if the receiver accepts the message', async () => {
    await cancelUnderWay()
    expect(await scene.deliveries(webhook)).toMatchObject([{ status: 'failed', attempts: 1 }])
    await end(200)
    expect(await scene.deliveries(webhook)).toMatchObject([
      { status: 'delivered', attempts: 2, due_at: null, finished_at: expect.any(String) },
    ])
    expect(await numbers()).toEqual([1, 2])
  })

  test('leaves the delivery failed if the receiver refuses the message, and counts the attempt', async () => {
    await cancelUnderWay()
    const [before] = await scene.deliveries(webhook)
    await end(500)
    expect(await scene.deliveries(webhook)).toEqual([{ ...before, status_class: 5, attempts: 2 }])
    expect(await numbers()).toEqual([1, 2])
  })
})

test.each([200, 500])(
  'a cancelled replay deletes a delivery without an earlier attempt, even if its message then gets the response %i',
  async (status) => {
    await cancelUnderWay()
    expect(await scene.deliveries(webhook)).toEqual([])
    await end(status)
    expect(await scene.deliveries(webhook)).toEqual([])
    expect(await numbers()).toEqual([])
  },
)
