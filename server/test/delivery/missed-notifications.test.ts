/** A process that gets no change notifications uses the current settings after its next heartbeat. */
import { beforeEach, describe, expect, test } from 'vitest'
import { openSecrets } from '../../src/features/webhooks/registrations/secrets.ts'
import { newWebhookSecret } from '../../src/features/webhooks/sending/signature.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene, SECRET, type TestWebhook } from './scene.ts'

let scene: Scene
let tenant: number
let webhook: TestWebhook
let receiver: Receiver
const old = newWebhookSecret()

/** Starts a process that keeps its queue as long as possible and has lost the connection for notifications. */
beforeEach(async () => {
  scene = await openScene()
  tenant = await scene.tenant()
  receiver = await openReceiver({ clock: scene.clock })
  webhook = await scene.webhook(tenant, receiver.url, { secrets: [old, SECRET] })
  const proxy = await proxyTo(scene.database)
  const tuning = { idleTimeoutMs: 3_600_000, heartbeatMs: 20 }
  const node = await startNode(scene, { address: { url: proxy.url }, tuning })
  proxy.deafen()
  await until('it hears nothing', () => !node.changes.trusted() || undefined)
  await scene.event(tenant)
  await scene.untilSettled(webhook)
  expect((await scene.queue(webhook)).leased_by).not.toBeNull()
})

const untilLetGo = () =>
  until('it is let go of', async () => {
    const { leased_until } = await scene.queue(webhook)
    return leased_until === null || undefined
  })

describe('a process without change notifications stops sending to a webhook', () => {
  test.each([
    ['that is deactivated', "update webhooks set is_active = false, disabled_reason = 'admin'"],
    ['whose tenant is deactivated', 'update tenants set is_active = false'],
    [
      'whose tenant was deleted more than an hour ago',
      "update tenants set deleted_at = now() - interval '61 minutes'",
    ],
  ])('%s', async (_, change) => {
    await scene.database.sql(change)
    await untilLetGo()
    // A webhook of another tenant, which the same process sends after the first.
    const other = await openReceiver({ clock: scene.clock })
    const stranger = await scene.tenant()
    await scene.event(tenant)
    await scene.webhook(stranger, other.url)
    await scene.event(stranger)
    await until('the other one has it', () => other.received.length === 1 || undefined)
    expect(receiver.received).toHaveLength(1)
    expect(await scene.deliveries(webhook)).toMatchObject([
      { status: 'delivered' },
      { status: 'pending', attempts: 0 },
    ])
  })
})

/** Sends the next message. By then the process must know the change. */
async function nextMessage(): Promise<void> {
  await untilLetGo()
  await scene.event(tenant)
  await until('it has arrived', () => receiver.received.length === 2 || undefined)
}

describe('a process without change notifications signs the next message', () => {
  test('without a revoked secret', async () => {
    expect(receiver.verifyWith(old)).toHaveLength(1)
    await scene.db.inTenant(tenant, (tx) => openSecrets(scene).withdrawOld(tx, webhook))
    await nextMessage()
    expect(receiver.verifyWith(SECRET)).toHaveLength(2)
    expect(() => receiver.verifyWith(old, receiver.received.slice(1))).toThrow(
      'No matching signature',
    )
  })

  test('with a new secret and the previous one', async () => {
    const secret = newWebhookSecret()
    await scene.db.inTenant(tenant, (tx) => openSecrets(scene).replace(tx, webhook, secret))
    await nextMessage()
    expect(receiver.verifyWith(SECRET)).toHaveLength(2)
    expect(receiver.verifyWith(secret, receiver.received.slice(1))).toHaveLength(1)
  })
})
