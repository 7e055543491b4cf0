/** The responses of a receiver determine how many messages it gets concurrently. */
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/lib/clock.ts'
import { gate } from '../sessions/scopes.ts'
import { openReceiver, type Reply } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let tenant: number

beforeEach(async () => {
  scene = await openScene()
  tenant = await scene.tenant()
})

/**
 * Opens a receiver that takes a moment to answer, and counts its concurrent requests. The receiver responds only after
 * `enough` requests have arrived.
 */
async function openCounter(reply: () => Reply) {
  const now = { running: 0, most: 0, enough: 1 }
  const receiver = await openReceiver({
    async answer() {
      now.running += 1
      now.most = Math.max(now.most, now.running)
      await until('enough have come', async () => now.most >= now.enough || undefined)
      await delay(30)
      now.running -= 1
      return reply()
    },
  })
  return { receiver, now }
}

async function events(count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => scene.event(tenant)))
}

/** Waits until the queue is released with a pause. Returns the length of the pause in milliseconds. */
async function paused(webhook: TestWebhook): Promise<number> {
  const ms = (at: string | null) => (at === null ? 0 : Date.parse(at) - scene.clock.now())
  const queue = await until('the queue is let go of with a pause', async () => {
    const row = await scene.queue(webhook)
    return row.leased_by === null && ms(row.paused_until) > 0 ? row : undefined
  })
  return ms(queue.paused_until)
}

describe('a healthy receiver', () => {
  test('is sent more and more messages at a time, but never more than sixteen', async () => {
    const { receiver, now } = await openCounter(() => ({ status: 200 }))
    const webhook = await scene.webhook(tenant, receiver.url)
    await events(300)
    await startNode(scene)
    await scene.untilSettled(webhook, 300)
    expect(receiver.received).toHaveLength(300)
    expect(now.most).toBeGreaterThan(4)
    expect(now.most).toBeLessThanOrEqual(16)
  })

  test('is sent as many messages at a time by several processes as by one', async () => {
    const { receiver, now } = await openCounter(() => ({ status: 200 }))
    const webhook = await scene.webhook(tenant, receiver.url)
    await events(200)
    await Promise.all([startNode(scene), startNode(scene), startNode(scene)])
    await scene.untilSettled(webhook, 200)
    expect(receiver.received).toHaveLength(200)
    expect(now.most).toBeLessThanOrEqual(16)
  })
})

describe.each([429, 503])('a receiver that answers %i', (status) => {
  test('is sent half as many messages at a time after each such response, down to one', async () => {
    // The pause is long enough to be observed. circuit.test.ts tests how pauses grow.
    const headers = { 'retry-after': '600' }
    const { receiver, now } = await openCounter(() => ({ status, headers }))
    const webhook = await scene.webhook(tenant, receiver.url)
    await events(20)
    await startNode(scene)
    const sent: number[] = []
    const most: number[] = []
    now.enough = 4
    for (let burst = 0; burst < 4; burst += 1) {
      const pause = await pausedAfter(burst)
      sent.push(receiver.received.length)
      most.push(now.most)
      now.most = 0
      now.enough = Math.max(1, now.enough / 2)
      scene.clock.advance(pause)
    }
    expect(sent).toEqual([4, 6, 7, 8])
    expect(most).toEqual([4, 2, 1, 1])

    /** Waits until a burst of messages has ended. Returns the length of the pause that follows. */
    async function pausedAfter(burst: number): Promise<number> {
      await until('the burst is over', async () => {
        const { failures } = await scene.queue(webhook)
        return failures === burst + 1 || undefined
      })
      return paused(webhook)
    }
  })
})

describe('a receiver that answers 503 to every third message', () => {
  test('is sent its other messages without a pause, and the refused messages again by their retry schedule', async () => {
    const firsts = new Set<string>()
    const receiver = await openReceiver({
      answer({ id }) {
        const isFirst = !firsts.has(id)
        firsts.add(id)
        return { status: isFirst && firsts.size % 3 === 0 ? 503 : 200 }
      },
    })
    const webhook = await scene.webhook(tenant, receiver.url)
    await events(240)
    await startNode(scene)
    const withTries = async (tries: number) =>
      (await scene.deliveries(webhook)).filter(({ attempts }) => attempts >= tries)
    await until('each has been tried', async () => (await withTries(1)).length === 240 || undefined)
    // On a slow run, the earliest failed messages may already be due again. No other message may arrive twice.
    const ids = receiver.received.map(({ id }) => id)
    const again = ids.filter((id, index) => ids.indexOf(id) < index)
    expect(again.length).toBeLessThanOrEqual(80)
    scene.clock.advance(10 * SECOND)
    await scene.untilSettled(webhook, 240)
    expect(await withTries(2)).toHaveLength(80)
    expect(receiver.received).toHaveLength(320)
    await until('it is known to do well', async () => {
      const { failures, paused_until, leased_by } = await scene.queue(webhook)
      return (failures === 0 && paused_until === null && leased_by === null) || undefined
    })
  })
})

describe('a receiver that keeps failing', () => {
  /** Creates a receiver that fails until it is repaired, and a webhook with 25 pending events. */
  async function failing() {
    const reply = { status: 500 }
    const { receiver, now } = await openCounter(() => reply)
    const webhook = await scene.webhook(tenant, receiver.url)
    await events(25)
    await startNode(scene)
    const first = await paused(webhook)
    return { receiver, now, webhook, reply, first }
  }

  test('is sent one test message at a time, with pauses that double', async () => {
    const { receiver, now, webhook, first } = await failing()
    // Counts the five messages that opened the circuit breaker, and the messages that were in flight at that time.
    const before = receiver.received.length
    expect(before).toBeGreaterThanOrEqual(5)
    expect(before).toBeLessThanOrEqual(8)
    now.most = 0
    let pause = first
    for (const seconds of [10, 20, 40]) {
      expect(pause).toBeLessThanOrEqual((1.1 * seconds * SECOND) / 2)
      scene.clock.advance(pause)
      pause = await until('the next pause', async () => {
        const ms = await paused(webhook)
        return ms > 0.8 * seconds * SECOND ? ms : undefined
      })
    }
    expect(receiver.received).toHaveLength(before + 3)
    expect(now.most).toBe(1)
    expect(await scene.queue(webhook)).toMatchObject({ failures: 8, slots: 1 })
  })

  test('is sent all pending messages once a test message succeeds', async () => {
    const { receiver, webhook, reply, first } = await failing()
    reply.status = 200
    scene.clock.advance(first)
    const untried = async () =>
      (await scene.deliveries(webhook)).filter(({ attempts }) => attempts === 0)
    await until('all have been tried', async () => (await untried()).length === 0 || undefined)
    // The refused messages wait for their second attempt.
    scene.clock.advance(6 * MINUTE)
    await scene.untilSettled(webhook, 25)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(25)
    await until('the queue is well', async () => {
      const { failures, failing_since, leased_by } = await scene.queue(webhook)
      return (failures === 0 && failing_since === null && leased_by === null) || undefined
    })
    expect((await scene.queue(webhook)).slots).toBeGreaterThan(1)
  })

  test('is recorded as failing even if its queue was locked at the time of the failure', async () => {
    const [answer, locked, end] = [gate(), gate(), gate()]
    const receiver = await openReceiver({
      answer: () => answer.pass.then(() => ({ status: 500 })),
    })
    const webhook = await scene.webhook(tenant, receiver.url)
    await startNode(scene, { tuning: { idleTimeoutMs: 60_000 } })
    await scene.event(tenant)
    await until('it is asked', () => receiver.open() === 1 || undefined)
    const locking = scene.db.acrossTenants(async (tx) => {
      const ofWebhook = tx.db.selectFrom('webhook_queues').where('webhook_id', '=', webhook.id)
      await ofWebhook.select('webhook_id').forUpdate().execute()
      locked.open()
      await end.pass
    })
    await locked.pass
    answer.open()
    await until('it is written down', async () => (await scene.attempts(webhook))[0])
    end.open()
    await locking
    await until('it fails', async () => {
      const { failing_since, leased_by } = await scene.queue(webhook)
      return (failing_since !== null && leased_by !== null) || undefined
    })
  })

  test('is recorded as failing from its first failure until its next success', async () => {
    const receiver = await openReceiver({ answer: (_, index) => ({ status: index ? 200 : 500 }) })
    const webhook = await scene.webhook(tenant, receiver.url)
    // The node keeps its lease during this idle time, so it must record the state before it releases the queue.
    await startNode(scene, { tuning: { idleTimeoutMs: 60_000 } })
    await scene.event(tenant)
    const since = await until('it fails', async () => {
      const { failing_since } = await scene.queue(webhook)
      return failing_since ?? undefined
    })
    expect(Math.abs(Date.parse(since) - scene.clock.now())).toBeLessThan(MINUTE)
    await scene.event(tenant)
    await until('it does well', async () => {
      const { failing_since, leased_by } = await scene.queue(webhook)
      return (failing_since === null && leased_by !== null) || undefined
    })
  })
})
