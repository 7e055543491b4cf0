/** The path of an event from the journal to a receiver: its message, its signatures, and how often it is delivered. */
import { describe, expect, test } from 'vitest'
import { newWebhookSecret } from '../../src/features/webhooks/sending/signature.ts'
import { SECOND } from '../../src/lib/clock.ts'
import { openReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, SECRET } from './scene.ts'

describe('a webhook event', () => {
  test('reaches a receiver, and the signature of its message is valid', async () => {
    const scene = await openScene()
    const receiver = await openReceiver({ clock: scene.clock })
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, receiver.url)
    await startNode(scene)
    const event = await scene.event(tenant, 'department.updated', { after: { name: 'Surgery' } })
    await scene.untilSettled(webhook)
    expect(receiver.verifyWith(SECRET)).toEqual([
      {
        type: 'department.updated',
        timestamp: event.created_at,
        id: event.message,
        tenant_id: tenant,
        data: {
          entry_id: event.id,
          resource_type: 'department',
          resource_id: '1',
          user_id: null,
          changes: { after: { name: 'Surgery' } },
        },
      },
    ])
    const [request] = receiver.received
    expect(request).toMatchObject({ id: event.message, path: '/hook' })
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Wardkeep/0.0.0',
    })
    expect(() => receiver.verifyWith(newWebhookSecret())).toThrow('No matching signature found')
  })

  test('is recorded with its single attempt', async () => {
    const scene = await openScene()
    const receiver = await openReceiver({ answer: () => ({ status: 202, body: 'taken' }) })
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, receiver.url)
    await startNode(scene)
    const event = await scene.event(tenant)
    await scene.untilSettled(webhook)
    expect(await scene.deliveries(webhook)).toMatchObject([
      { entry_id: event.id, event: 'department.updated', status: 'delivered', attempts: 1 },
    ])
    expect(await scene.attempts(webhook)).toMatchObject([
      {
        entry_id: event.id,
        number: 1,
        status_code: 202,
        error: null,
        address: '127.0.0.1',
        response_body: 'taken',
      },
    ])
  })

  test('carries the same ID to every receiver', async () => {
    const scene = await openScene()
    const receivers = [await openReceiver({ clock: scene.clock }), await openReceiver(scene)]
    const tenant = await scene.tenant()
    for (const { url } of receivers) await scene.webhook(tenant, url)
    await startNode(scene)
    const { message } = await scene.event(tenant)
    for (const { received } of receivers)
      await until('it has arrived', () => received.length > 0 || undefined)
    expect(receivers.map(({ received }) => received.map(({ id }) => id))).toEqual([
      [message],
      [message],
    ])
  })

  test('arrives exactly once in a burst of events', async () => {
    const scene = await openScene()
    const receiver = await openReceiver({ clock: scene.clock })
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, receiver.url)
    await startNode(scene)
    const events = await Promise.all(Array.from({ length: 100 }, () => scene.event(tenant)))
    await scene.untilSettled(webhook, 100)
    expect(receiver.received.map(({ id }) => id).sort()).toEqual(
      events.map(({ message }) => message).sort(),
    )
  })

  test('arrives once a process runs, even if no process ran when the event happened', async () => {
    const scene = await openScene()
    const receiver = await openReceiver({ clock: scene.clock })
    const tenant = await scene.tenant()
    await scene.webhook(tenant, receiver.url)
    const { message } = await scene.event(tenant)
    await startNode(scene)
    await until('it has arrived', () => receiver.received.length > 0 || undefined)
    expect(receiver.received[0]?.id).toBe(message)
  })
})

test('a second attempt sends the same ID and body, with a new timestamp and signature', async () => {
  const scene = await openScene()
  const receiver = await openReceiver({
    clock: scene.clock,
    answer: (_request, index) => ({ status: index === 0 ? 500 : 200 }),
  })
  const tenant = await scene.tenant()
  const webhook = await scene.webhook(tenant, receiver.url)
  await startNode(scene)
  await scene.event(tenant, 'department.updated', { after: { name: 'Ü\u0007\u{1f600}"' } })
  await until('it is refused', async () => (await scene.attempts(webhook))[0])
  scene.clock.advance(10 * SECOND)
  await scene.untilSettled(webhook)
  const [first, second] = receiver.received
  expect(second).toMatchObject({ id: first?.id, body: first?.body })
  expect(second?.timestamp).toBeGreaterThan(first?.timestamp ?? 0)
  expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature'])
  expect(receiver.verifyWith(SECRET)).toHaveLength(2)
})

describe('a webhook whose former secret still signs after a replacement', () => {
  test('sends messages that both secrets verify, with the signature of the new secret first', async () => {
    const scene = await openScene()
    const receiver = await openReceiver({ clock: scene.clock })
    const tenant = await scene.tenant()
    const secrets = [newWebhookSecret(), 'plain text of our own']
    const webhook = await scene.webhook(tenant, receiver.url, { secrets })
    await startNode(scene)
    await scene.event(tenant)
    await scene.untilSettled(webhook)
    for (const secret of secrets) expect(receiver.verifyWith(secret)).toHaveLength(1)
    expect(receiver.received[0]?.headers['webhook-signature']?.split(' ')).toHaveLength(2)
  })

  test('signs only with the new secret after a day', async () => {
    const scene = await openScene()
    const receiver = await openReceiver({ clock: scene.clock })
    const tenant = await scene.tenant()
    const [old, current] = [newWebhookSecret(), newWebhookSecret()]
    const webhook = await scene.webhook(tenant, receiver.url, { secrets: [old, current] })
    scene.clock.advance(24 * 3600 * SECOND)
    await startNode(scene)
    await scene.event(tenant)
    await scene.untilSettled(webhook)
    expect(receiver.verifyWith(current)).toHaveLength(1)
    expect(() => receiver.verifyWith(old)).toThrow('No matching signature found')
  })

  test('signs only with the new secret after a day, even if its process has kept the lease', async () => {
    const scene = await openScene()
    const receiver = await openReceiver({ clock: scene.clock })
    const tenant = await scene.tenant()
    const [old, current] = [newWebhookSecret(), newWebhookSecret()]
    const webhook = await scene.webhook(tenant, receiver.url, { secrets: [old, current] })
    await startNode(scene, { tuning: { idleTimeoutMs: 3_600_000, heartbeatMs: 20 } })
    await scene.event(tenant)
    await scene.untilSettled(webhook)
    expect(receiver.verifyWith(old)).toHaveLength(1)
    scene.clock.advance(24 * 3600 * SECOND)
    await until('its process has let go of it', async () => {
      const { leased_by } = await scene.queue(webhook)
      return leased_by === null || undefined
    })
    await scene.event(tenant)
    await scene.untilSettled(webhook, 2)
    expect(receiver.received[1]?.headers['webhook-signature']?.split(' ')).toHaveLength(1)
  })
})
