/** A change of a webhook applies to its next message, on every node. */
import { beforeEach, describe, expect, test } from 'vitest'
import { resetCircuit } from '../../src/features/webhooks/engine/queues.store.ts'
import { notifyDue } from '../../src/features/webhooks/engine/topics.ts'
import { openSecrets } from '../../src/features/webhooks/registrations/secrets.ts'
import { newWebhookSecret } from '../../src/features/webhooks/sending/signature.ts'
import { DAY } from '../../src/lib/clock.ts'
import type { KeyRing } from '../../src/platform/crypto/index.ts'
import { gate } from '../sessions/scopes.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene, SECRET, type TestWebhook } from './scene.ts'

/** Keeps a claimed queue leased to the process for the whole test. */
const HELD = { idleTimeoutMs: 3_600_000 }

let scene: Scene
let tenant: number
let before: Receiver
let after: Receiver

beforeEach(async () => {
  scene = await openScene()
  tenant = await scene.tenant()
  before = await openReceiver({ clock: scene.clock })
  after = await openReceiver({ clock: scene.clock })
})

const messagesAt = ({ received }: Receiver) => received.map(({ id }) => id)

const arrivedAt = (receiver: Receiver, count = 1) =>
  until(`${count} have arrived`, () => receiver.received.length >= count || undefined)

/** Resets the queue as the API does when the URL changes or the webhook is activated. */
const freshly = ({ id }: TestWebhook) =>
  scene.db.inTenant(tenant, async (tx) => {
    await resetCircuit(tx, id, new Date(scene.clock.now()).toISOString())
    notifyDue(tx, [id])
  })

describe('a new webhook URL', () => {
  test('is used for the next event, and the former URL never again', async () => {
    const webhook = await scene.webhook(tenant, before.url)
    await startNode(scene, { tuning: HELD })
    const first = await scene.event(tenant)
    await scene.untilSettled(webhook)
    await scene.change(webhook, { url: after.url })
    const second = await scene.event(tenant)
    await arrivedAt(after)
    expect([messagesAt(before), messagesAt(after)]).toEqual([[first.message], [second.message]])
  })

  test('is used even if the change happens while a process is claiming the queue', async () => {
    const webhook = await scene.webhook(tenant, before.url)
    const { pass, open } = gate()
    let isTaken = false
    // Pauses the worker after it has read the URL and before it decrypts the secret.
    const keyRing = (ring: KeyRing): KeyRing => ({
      ...ring,
      async ofTenant(...asked) {
        isTaken = true
        await pass
        return ring.ofTenant(...asked)
      },
    })
    const node = await startNode(scene, { tuning: HELD, keyRing })
    const heard: (string | null)[] = []
    node.changes.subscribe((topic) => heard.push(topic))
    const { message } = await scene.event(tenant)
    await until('it is being taken over', () => isTaken || undefined)
    await scene.change(webhook, { url: after.url })
    await until('it is heard', () => heard.includes(`webhook:${webhook.id}`) || undefined)
    open()
    await arrivedAt(after)
    expect([messagesAt(before), messagesAt(after)]).toEqual([[], [message]])
  })

  test('is used by a process that missed notifications for a while', async () => {
    const webhook = await scene.webhook(tenant, before.url)
    const proxy = await proxyTo(scene.database)
    const node = await startNode(scene, { tuning: HELD, address: { url: proxy.url } })
    await scene.event(tenant)
    await scene.untilSettled(webhook)
    await proxy.refuse()
    await until('it hears nothing', () => !node.changes.trusted() || undefined)
    await scene.change(webhook, { url: after.url })
    await proxy.open()
    await until('it hears again', () => node.changes.trusted() || undefined)
    const { message } = await scene.event(tenant)
    await arrivedAt(after)
    expect(messagesAt(after)).toEqual([message])
    expect(before.received).toHaveLength(1)
  })

  test('is used immediately while a message to the former URL is unanswered', async () => {
    before.answerWith(() => 'stall')
    const webhook = await scene.webhook(tenant, before.url)
    await startNode(scene, { tuning: HELD })
    const { message } = await scene.event(tenant)
    await arrivedAt(before)
    await scene.change(webhook, { url: after.url })
    await freshly(webhook)
    await arrivedAt(after)
    expect(messagesAt(after)).toEqual([message])
    expect(before.open()).toBe(1)
  })

  test('does not get its webhook deactivated because of a response from the former URL', async () => {
    const { pass, open } = gate()
    before.answerWith(async () => {
      await pass
      return { status: 410 }
    })
    const webhook = await scene.webhook(tenant, before.url)
    await startNode(scene, { tuning: HELD })
    await scene.event(tenant)
    await arrivedAt(before)
    await scene.change(webhook, { url: after.url })
    await freshly(webhook)
    await arrivedAt(after)
    open()
    await until('the old one has answered', async () =>
      (await scene.attempts(webhook)).find(({ status_code }) => status_code === 410),
    )
    await scene.event(tenant)
    await arrivedAt(after, 2)
    expect(await scene.database.sql('select is_active, disabled_reason from webhooks')).toEqual([
      { is_active: true, disabled_reason: null },
    ])
  })
})

test('a new webhook secret signs the next message, together with the former secret', async () => {
  const webhook = await scene.webhook(tenant, before.url)
  await startNode(scene, { tuning: HELD })
  await scene.event(tenant)
  await arrivedAt(before)
  const secret = newWebhookSecret()
  await scene.db.inTenant(tenant, async (tx) => {
    await openSecrets(scene).replace(tx, webhook, secret)
    tx.invalidate(`webhook:${webhook.id}`)
  })
  await scene.event(tenant)
  await arrivedAt(before, 2)
  expect(before.verifyWith(SECRET)).toHaveLength(2)
  expect(before.verifyWith(secret, before.received.slice(1))).toHaveLength(1)
})

test('a revoked webhook secret no longer signs, on any node', async () => {
  const old = newWebhookSecret()
  const webhook = await scene.webhook(tenant, before.url, { secrets: [old, SECRET] })
  await startNode(scene, { tuning: HELD })
  await scene.event(tenant)
  await arrivedAt(before)
  expect(before.verifyWith(old)).toHaveLength(1)
  await scene.db.inTenant(tenant, async (tx) => {
    await openSecrets(scene).withdrawOld(tx, webhook)
    tx.invalidate(`webhook:${webhook.id}`)
  })
  await scene.event(tenant)
  await arrivedAt(before, 2)
  expect(before.verifyWith(SECRET)).toHaveLength(2)
  expect(() => before.verifyWith(old, before.received.slice(1))).toThrow('No matching signature')
})

describe('a webhook of an inactive tenant', () => {
  /** Activates or deactivates the tenant as the platform operator does. */
  const setActive = (is_active: boolean) =>
    scene.db.acrossTenants(async (tx) => {
      await tx.db.updateTable('tenants').set({ is_active }).where('id', '=', tenant).execute()
      tx.invalidate(`tenant:${tenant}`)
    })

  test('is sent nothing by the process that leases its queue, and receives all events after reactivation', async () => {
    const webhook = await scene.webhook(tenant, before.url)
    const stranger = await scene.tenant()
    await scene.webhook(stranger, after.url)
    await startNode(scene, { tuning: HELD })
    await scene.event(tenant)
    await arrivedAt(before)
    await setActive(false)
    const events = [await scene.event(tenant), await scene.event(tenant)]
    await until(
      'they wait',
      async () => (await scene.deliveries(webhook)).length === 3 || undefined,
    )
    // The same node sends an event of another tenant.
    await scene.event(stranger)
    await arrivedAt(after)
    expect(before.received).toHaveLength(1)
    await setActive(true)
    await arrivedAt(before, 3)
    expect(messagesAt(before).slice(1).sort()).toEqual(events.map(({ message }) => message).sort())
  })

  test('receives messages that were loaded in advance only after reactivation', async () => {
    const { pass, open } = gate()
    before.answerWith(async () => {
      await pass
      return { status: 200 }
    })
    const webhook = await scene.webhook(tenant, before.url)
    for (let count = 0; count < 12; count += 1) await scene.event(tenant)
    const node = await startNode(scene)
    await arrivedAt(before, 4)
    const heard = Promise.withResolvers<void>()
    node.changes.subscribe((topic) => topic === `tenant:${tenant}` && heard.resolve())
    await setActive(false)
    await heard.promise
    open()
    await until('it is let go of', async () => {
      const { leased_by } = await scene.queue(webhook)
      return leased_by === null || undefined
    })
    expect(before.received).toHaveLength(4)
    await setActive(true)
    await scene.untilSettled(webhook, 12)
    expect(before.received).toHaveLength(12)
  })
})

describe('an inactive webhook', () => {
  const INACTIVE = { is_active: false, disabled_reason: 'admin' }

  test('is sent nothing, and receives all events once it is active again', async () => {
    const webhook = await scene.webhook(tenant, before.url)
    await scene.webhook(tenant, after.url)
    await startNode(scene, { tuning: HELD })
    await scene.event(tenant)
    await arrivedAt(before)
    await scene.change(webhook, INACTIVE)
    const events = [await scene.event(tenant), await scene.event(tenant)]
    // Once the other webhook has received the events, this webhook would have received them too, if they were sent.
    await arrivedAt(after, 3)
    expect(before.received).toHaveLength(1)
    await scene.change(webhook, { is_active: true, disabled_reason: null })
    await freshly(webhook)
    await arrivedAt(before, 3)
    expect(messagesAt(before).slice(1).sort()).toEqual(events.map(({ message }) => message).sort())
  })

  test('keeps its pending events while its process renews the lease any number of times', async () => {
    const webhook = await scene.webhook(tenant, before.url)
    await scene.change(webhook, INACTIVE)
    await startNode(scene, { tuning: { heartbeatMs: 20 } })
    await scene.event(tenant)
    await until('it is off the list', async () => {
      const { due_at } = await scene.queue(webhook)
      return ((await scene.deliveries(webhook)).length === 1 && due_at === null) || undefined
    })
    scene.clock.advance(DAY)
    await scene.change(webhook, { is_active: true, disabled_reason: null })
    await freshly(webhook)
    await scene.untilSettled(webhook)
    expect(before.received).toHaveLength(1)
  })
})
