/** Receivers that never respond do not slow down other receivers. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Tuning } from '../../src/features/webhooks/engine/tuning.ts'
import { gate } from '../sessions/scopes.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene } from './scene.ts'

let scene: Scene
let stalled: Receiver
let healthy: Receiver

/** Far fewer slots than the stalled receivers would fill. */
const NARROW: Partial<Tuning> = { quick: 8, queues: 4, slowAfterMs: 50 }

beforeEach(async () => {
  scene = await openScene()
  stalled = await openReceiver({ answer: () => 'stall' })
  healthy = await openReceiver({ clock: scene.clock })
})

/**
 * Makes eight webhooks of a tenant wait for responses that never arrive. Each has the maximum of messages in flight.
 */
async function stall(tenant: number, tuning: Partial<Tuning>): Promise<void> {
  for (let count = 0; count < 8; count += 1)
    await scene.webhook(tenant, `${stalled.url}/${count}`, { events: ['user.*'] })
  await startNode(scene, { tuning })
  for (let count = 0; count < 6; count += 1) await scene.event(tenant, 'user.created')
  await until('all stall', () => stalled.open() === 32 || undefined)
}

/** Expects that no stalled request has ended, either with a response or at its deadline. */
const stillStalls = () => expect(stalled.open()).toBe(stalled.received.length)

describe('eight receivers of one tenant that never respond', () => {
  test('do not delay a receiver of another tenant', async () => {
    const [theirs, ours] = [await scene.tenant(), await scene.tenant()]
    const webhook = await scene.webhook(ours, healthy.url)
    await stall(theirs, NARROW)
    for (let count = 0; count < 30; count += 1) await scene.event(ours)
    await scene.untilSettled(webhook, 30)
    expect(healthy.received).toHaveLength(30)
    stillStalls()
  })

  test('do not delay another receiver of the same tenant', async () => {
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, healthy.url, { events: ['department.*'] })
    await stall(tenant, NARROW)
    for (let count = 0; count < 30; count += 1) await scene.event(tenant)
    await scene.untilSettled(webhook, 30)
    expect(healthy.received).toHaveLength(30)
    stillStalls()
  })

  test('are sent at most four messages each', async () => {
    await stall(await scene.tenant(), {})
    const paths = stalled.received.map(({ path }) => path)
    const counts = [...Map.groupBy(paths, (path) => path).values()].map(({ length }) => length)
    expect(counts).toEqual(Array(8).fill(4))
  })
})

test('a tenant with many webhooks does not delay the webhook of another tenant', async () => {
  const [crowd, single] = [await scene.tenant(), await scene.tenant()]
  const { pass, open } = gate()
  const busy = await openReceiver({
    async answer(_, index) {
      if (index >= 20) await pass
      return { status: 200, delayMs: 20 }
    },
  })
  for (let count = 0; count < 40; count += 1) await scene.webhook(crowd, `${busy.url}/${count}`)
  let before = 0
  const late = await openReceiver({
    answer() {
      before = busy.received.length
      return { status: 200 }
    },
  })
  const webhook = await scene.webhook(single, late.url)
  let published = 0
  const publish = async () => {
    await scene.event(crowd)
    published += 1
  }
  for (let count = 0; count < 20; count += 1) await publish()
  // Allows fewer queues than this tenant has webhooks, and keeps all of them busy for a while.
  const tuning = {
    quick: 8,
    queues: 10,
    timeSliceMs: 100,
    idleTimeoutMs: 100,
    slowAfterMs: 3_600_000,
  }
  await startNode(scene, { tuning })
  await until('the crowd is at work', () => busy.received.length > 20 || undefined)
  await scene.event(single)
  const waits = async () => (await scene.deliveries(webhook)).length > 0 || undefined
  await until('the other one waits', waits)
  open()
  // The many webhooks always have pending messages, because they get far more events than the process can send.
  let isWaiting = true
  const publishing = (async () => {
    while (isWaiting) await publish()
  })()
  await scene.untilSettled(webhook)
  isWaiting = false
  await publishing
  expect(before).toBeLessThan(40 * published)
})
