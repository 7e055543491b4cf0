/** Several processes deliver in parallel. Every message arrives, and none arrives twice. */
import { expect, test } from 'vitest'
import { openReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene } from './scene.ts'

test('three processes deliver each of 300 events once to each of 30 webhooks', async () => {
  const scene = await openScene()
  const receivers = await Promise.all([1, 2, 3].map(() => openReceiver({ clock: scene.clock })))
  const tenants = await Promise.all(receivers.map(() => scene.tenant()))
  for (const [index, tenant] of tenants.entries())
    for (let count = 0; count < 10; count += 1)
      await scene.webhook(tenant, `${receivers[index]?.url}/${count}`)
  const nodes = await Promise.all([startNode(scene), startNode(scene), startNode(scene)])
  const sent = await Promise.all(
    tenants.map(async (tenant) => {
      const messages: string[] = []
      while (messages.length < 100) {
        const events = await Promise.all(Array.from({ length: 10 }, () => scene.event(tenant)))
        messages.push(...events.map(({ message }) => message))
      }
      return messages
    }),
  )
  for (const { received } of receivers)
    await until('all have arrived', () => received.length >= 1000 || undefined)
  await until('all is written down', async () => {
    const [row] = await scene.database.sql<{ count: number }>(
      `select count(*)::int from webhook_deliveries where status = 'delivered'`,
    )
    return row?.count === 3000 || undefined
  })
  for (const [index, { received }] of receivers.entries()) {
    const byWebhook = Map.groupBy(received, ({ path }) => path)
    expect(byWebhook.size).toBe(10)
    for (const requests of byWebhook.values())
      expect(requests.map(({ id }) => id).sort()).toEqual([...(sent[index] ?? [])].sort())
  }
  // Checks that every process sent messages, and that no two processes sent the same message.
  const lines = nodes.map(({ logged }) => logged)
  expect(lines.filter((each) => each.some(([, , text]) => text === 'webhook attempt'))).not.toEqual(
    [],
  )
  const troubles = lines.flat().filter(([level]) => level === 'warn' || level === 'error')
  // On a busy machine, a heartbeat may be late.
  expect(
    troubles.filter(([, , text]) => !/change listener lost|notification of other nodes/.test(text)),
  ).toEqual([])
})

test('a process that joins takes over a share of the webhooks, and a process that leaves loses no message', async () => {
  const scene = await openScene()
  const receiver = await openReceiver({ answer: () => ({ status: 200, delayMs: 5 }) })
  const tenant = await scene.tenant()
  for (let count = 0; count < 20; count += 1)
    await scene.webhook(tenant, `${receiver.url}/${count}`)
  const first = await startNode(scene, { tuning: { queues: 5 } })
  const events = Promise.all(Array.from({ length: 50 }, () => scene.event(tenant)))
  await until('the first is at work', () => receiver.received.length > 50 || undefined)
  const second = await startNode(scene, { tuning: { queues: 20 } })
  await until(
    'the second is at work',
    () => second.logged.some(([, , text]) => text === 'webhook attempt') || undefined,
  )
  await first.stop(60_000)
  const ids = (await events).map(({ message }) => message).sort()
  await until('all is settled', async () => {
    const [row] = await scene.database.sql<{ count: number }>(
      `select count(*)::int from webhook_deliveries where status = 'delivered'`,
    )
    return row?.count === 1000 || undefined
  })
  for (const requests of Map.groupBy(receiver.received, ({ path }) => path).values())
    expect(requests.map(({ id }) => id).sort()).toEqual(ids)
})
