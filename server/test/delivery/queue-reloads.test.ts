/** Queues are read again while messages are in flight. Failed messages keep their retry schedule. */
import { beforeEach, describe, expect, test } from 'vitest'
import { resetCircuit } from '../../src/features/webhooks/engine/queues.store.ts'
import { notifyDue } from '../../src/features/webhooks/engine/topics.ts'
import { HOUR } from '../../src/lib/clock.ts'
import type { Topic } from '../../src/platform/db/topics.ts'
import { type Gate, gate } from '../sessions/scopes.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { type DeliveryNode, startNode } from './node.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let tenant: number
let webhook: TestWebhook
let receiver: Receiver
let answering: Gate

beforeEach(async () => {
  scene = await openScene()
  tenant = await scene.tenant()
  answering = gate()
  receiver = await openReceiver({
    clock: scene.clock,
    async answer() {
      await answering.pass
      return { status: 503, headers: { 'retry-after': '7200' } }
    },
  })
  webhook = await scene.webhook(tenant, receiver.url)
})

const iso = () => new Date(scene.clock.now()).toISOString()

/** Waits until `work` has notified the node of `topic`. */
async function heard(node: DeliveryNode, topic: Topic | null, work: () => unknown): Promise<void> {
  const topics: (Topic | null)[] = []
  const end = node.changes.subscribe((one) => topics.push(one))
  await work()
  await until(`${topic} is heard`, () => topics.includes(topic) || undefined)
  end()
}

/** Waits until a message is in flight. */
const underWay = async () => {
  await scene.event(tenant)
  await until('it is under way', () => receiver.open() === 1 || undefined)
}

/** Returns the delivery once its first attempt is recorded. */
const refused = () =>
  until('the try is written down', async () => {
    const [row] = await scene.deliveries(webhook)
    return row?.attempts === 1 ? row : undefined
  })

describe('a message that the receiver refused keeps its retry time', () => {
  async function expectKept(): Promise<void> {
    answering.open()
    const row = await refused()
    expect(row).toMatchObject({ status: 'pending', retry_step: 1 })
    expect(Date.parse(row.due_at)).toBeGreaterThan(scene.clock.now() + HOUR)
  }

  test('when the process has lost its listener connection and connected again', async () => {
    const proxy = await proxyTo(scene.database)
    const node = await startNode(scene, { address: { url: proxy.url } })
    await underWay()
    await heard(node, null, async () => {
      proxy.deafen()
      await proxy.open()
    })
    await expectKept()
  })

  test('when the clinic is restored from a backup', async () => {
    const node = await startNode(scene)
    await underWay()
    const restored = () => scene.db.acrossTenants(async (tx) => tx.invalidate('restored'))
    await heard(node, null, restored)
    await expectKept()
  })

  test('when a field of its webhook other than the URL changes', async () => {
    const node = await startNode(scene)
    await underWay()
    const { id } = webhook
    await heard(node, `webhook:${id}`, () => scene.change(webhook, { events: ['department.*'] }))
    await expectKept()
  })
})

test('a message refused at the former URL is due immediately at the new URL, with all its attempts left', async () => {
  const other = await openReceiver({ clock: scene.clock, answer: () => 'stall' })
  const node = await startNode(scene)
  await underWay()
  await heard(node, `webhook:${webhook.id}`, async () => {
    await scene.change(webhook, { url: other.url })
    await scene.db.inTenant(tenant, async (tx) => {
      await resetCircuit(tx, webhook.id, iso())
      notifyDue(tx, [webhook.id])
    })
  })
  await until('it goes there', () => other.open() === 1 || undefined)
  answering.open()
  const row = await refused()
  expect(row).toMatchObject({ status: 'pending', retry_step: 0 })
  expect(Date.parse(row.due_at)).toBeLessThanOrEqual(scene.clock.now())
})
