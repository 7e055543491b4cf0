/** A process loses its leases for a while, and then claims the same queues again. */
import { expect, test } from 'vitest'
import { gate } from '../sessions/scopes.ts'
import { openReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene } from './scene.ts'

test('a process does not send messages again that are unanswered when its lease expires', async () => {
  const scene = await openScene()
  const { pass, open } = gate()
  const receiver = await openReceiver({
    async answer() {
      await pass
      return { status: 200 }
    },
  })
  const tenant = await scene.tenant()
  const webhook = await scene.webhook(tenant, receiver.url)
  for (let count = 0; count < 3; count += 1) await scene.event(tenant)
  await startNode(scene)
  await until('three are under way', () => receiver.open() === 3 || undefined)
  const { epoch } = await scene.queue(webhook)
  await scene.database.sql(`update webhook_queues set leased_until = now() - interval '1 s'`)
  await until(
    'it is claimed anew',
    async () => (await scene.queue(webhook)).epoch > epoch || undefined,
  )
  // Checks that the process also fetches and sends deliveries after the new claim.
  await scene.event(tenant)
  await until('a fourth is under way', () => receiver.open() === 4 || undefined)
  open()
  await scene.untilSettled(webhook, 4)
  expect(receiver.received).toHaveLength(4)
})
