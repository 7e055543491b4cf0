/** Notifications between processes start delivery immediately, without waiting for the next poll. */
import { expect, test } from 'vitest'
import type { Tuning } from '../../src/features/webhooks/engine/tuning.ts'
import { openReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene } from './scene.ts'

/** Disables polling for the duration of a test. */
const DEAF: Partial<Tuning> = { pollMs: 3_600_000 }

test('an event is sent as soon as it happens, for an idle webhook and for a busy one', async () => {
  const scene = await openScene()
  const receiver = await openReceiver()
  const tenant = await scene.tenant()
  const webhook = await scene.webhook(tenant, receiver.url)
  await startNode(scene, { tuning: { ...DEAF, idleTimeoutMs: 3_600_000 } })
  for (let count = 1; count <= 5; count += 1) {
    const { message } = await scene.event(tenant)
    await scene.untilSettled(webhook, count)
    expect(receiver.received.at(-1)?.id).toBe(message)
  }
})

test.each([1, 2])(
  'no event is lost while its queue is being released, with this number of processes: %i',
  async (nodes) => {
    const scene = await openScene()
    const receiver = await openReceiver()
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, receiver.url)
    // Uses queues that the process releases as soon as they are idle, which it checks every tenth of a second.
    for (let count = 0; count < nodes; count += 1)
      await startNode(scene, { tuning: { ...DEAF, idleTimeoutMs: 0 } })
    for (let count = 0; count < 40; count += 1) {
      await scene.event(tenant)
      await until('it has arrived', () => receiver.received.length > count || undefined)
      // Varies the delay, so that the events arrive at different points of the release.
      await scene.database.sql('select pg_sleep($1::float8)', [((count * 7) % 110) / 1000])
    }
    await scene.untilSettled(webhook, 40)
    expect((await scene.queue(webhook)).epoch).toBeGreaterThan(5)
  },
)

test('a message for which no slot is free is sent as soon as another message ends', async () => {
  const scene = await openScene()
  const receiver = await openReceiver({ answer: () => ({ status: 200, delayMs: 20 }) })
  const tenant = await scene.tenant()
  const webhook = await scene.webhook(tenant, receiver.url)
  await startNode(scene, { tuning: { ...DEAF, quick: 2 } })
  await Promise.all(Array.from({ length: 60 }, () => scene.event(tenant)))
  await scene.untilSettled(webhook, 60)
  expect(receiver.received).toHaveLength(60)
})
