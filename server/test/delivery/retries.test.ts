/** Refused messages are retried by the schedule and by Retry-After, and finally fail. */
import { beforeEach, describe, expect, test } from 'vitest'
import { RETRY_WAITS } from '../../src/features/webhooks/engine/schedule.ts'
import { HOUR, MINUTE, SECOND } from '../../src/lib/clock.ts'
import { openReceiver } from '../support/receiver.ts'
import { refusedPort } from '../support/refused-port.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let tenant: number

beforeEach(async () => {
  scene = await openScene()
  tenant = await scene.tenant()
})

/** Waits until this many attempts are recorded. Returns the delivery of the last attempt. */
async function tried(webhook: TestWebhook, times: number) {
  await until(`try ${times}`, async () => {
    const [row] = await scene.deliveries(webhook)
    return row?.attempts === times || undefined
  })
  const [row] = await scene.deliveries(webhook)
  return row
}

/**
 * Returns a function that publishes an event to a healthy receiver and waits for it. By then the node has sent all
 * earlier messages too.
 */
async function sentinel(): Promise<() => Promise<void>> {
  const receiver = await openReceiver({ clock: scene.clock })
  await scene.webhook(tenant, receiver.url)
  return async () => {
    const { message } = await scene.event(tenant)
    await until(
      'it is there',
      () => receiver.received.some(({ id }) => id === message) || undefined,
    )
  }
}

const inMs = (row: { due_at?: string } | undefined) =>
  Date.parse(row?.due_at ?? '') - scene.clock.now()

describe('a refused delivery', () => {
  test('is retried when it is due, and not before', async () => {
    const receiver = await openReceiver({
      answer: (_, index) => ({ status: index < 2 ? 500 : 200 }),
    })
    const webhook = await scene.webhook(tenant, receiver.url, { events: ['user.*'] })
    const others = await sentinel()
    await startNode(scene)
    await scene.event(tenant, 'user.created')
    scene.clock.advance(inMs(await tried(webhook, 1)))
    const row = await tried(webhook, 2)
    expect(row).toMatchObject({ status: 'pending', retry_step: 2 })
    scene.clock.advance(inMs(row) - MINUTE)
    await others()
    expect(receiver.received).toHaveLength(2)
    scene.clock.advance(MINUTE)
    await scene.untilSettled(webhook)
    expect(receiver.received).toHaveLength(3)
    expect(await scene.attempts(webhook)).toMatchObject([
      { number: 1, status_code: 500, error: 'status', detail: 'the receiver responded with 500' },
      { number: 2, status_code: 500, error: 'status', detail: 'the receiver responded with 500' },
      { number: 3, status_code: 200, error: null },
    ])
  })

  test('fails after the tenth attempt, three days after the first', async () => {
    const receiver = await openReceiver({ answer: () => ({ status: 500 }) })
    const webhook = await scene.webhook(tenant, receiver.url)
    await startNode(scene)
    await scene.event(tenant)
    for (const [index, wait] of RETRY_WAITS.entries()) {
      const row = await tried(webhook, index + 1)
      const { started_at } = (await scene.attempts(webhook)).at(-1) ?? { started_at: '' }
      const waits = Date.parse(row?.due_at) - Date.parse(started_at)
      // The time exceeds that of the tenth attempt slightly, because the response took some time.
      expect(waits / wait).toBeGreaterThanOrEqual(0.9)
      expect(waits).toBeLessThanOrEqual(1.1 * wait + SECOND)
      scene.clock.advance(inMs(row))
    }
    await scene.untilSettled(webhook)
    expect(await scene.deliveries(webhook)).toMatchObject([
      { status: 'failed', attempts: 10, retry_step: 10, due_at: null },
    ])
    expect(receiver.received).toHaveLength(10)
    expect(new Set(receiver.received.map(({ id, body }) => id + body)).size).toBe(1)
    await until('the queue is idle', async () => {
      const { due_at, leased_by } = await scene.queue(webhook)
      return (due_at === null && leased_by === null) || undefined
    })
  })
})

describe('a receiver that sends Retry-After', () => {
  test('gets no message before that time, neither the refused one nor another', async () => {
    const receiver = await openReceiver({
      answer: (_, index) =>
        index ? { status: 200 } : { status: 503, headers: { 'retry-after': '600' } },
    })
    const webhook = await scene.webhook(tenant, receiver.url, { events: ['user.*'] })
    const others = await sentinel()
    await startNode(scene)
    const first = await scene.event(tenant, 'user.created')
    const row = await tried(webhook, 1)
    expect(inMs(row)).toBeGreaterThan(9 * MINUTE)
    expect(inMs(row)).toBeLessThan(11.1 * MINUTE)
    const second = await scene.event(tenant, 'user.updated')
    await others()
    expect(receiver.received).toHaveLength(1)
    scene.clock.advance(11.1 * MINUTE)
    await scene.untilSettled(webhook, 2)
    expect(receiver.received.map(({ id }) => id).sort()).toEqual(
      [first.message, first.message, second.message].sort(),
    )
  })

  test('can send a date, which is used up to a day ahead', async () => {
    const date = () => new Date(scene.clock.now() + 400 * HOUR).toUTCString()
    const receiver = await openReceiver({
      answer: () => ({ status: 429, headers: { 'retry-after': date() } }),
    })
    const webhook = await scene.webhook(tenant, receiver.url)
    await startNode(scene)
    await scene.event(tenant)
    const row = await tried(webhook, 1)
    expect(inMs(row)).toBeGreaterThan(23.9 * HOUR)
    expect(inMs(row)).toBeLessThan(26.5 * HOUR)
    // Other events wait for a shorter time.
    const paused_until = await until(
      'the queue is let go of with a pause',
      async () => (await scene.queue(webhook)).paused_until ?? undefined,
    )
    expect(Date.parse(paused_until) - scene.clock.now()).toBeLessThanOrEqual(HOUR)
  })
})

test('a redirect is not followed, and counts as a failed attempt', async () => {
  const elsewhere = await openReceiver()
  const receiver = await openReceiver({
    answer: (_, index) => ({
      status: [301, 302, 303, 307, 308][index] ?? 200,
      headers: { location: elsewhere.url },
    }),
  })
  const webhook = await scene.webhook(tenant, receiver.url)
  await startNode(scene)
  await scene.event(tenant)
  for (let times = 1; times <= 5; times += 1) {
    const row = await tried(webhook, times)
    scene.clock.advance(inMs(row))
  }
  await scene.untilSettled(webhook)
  const attempts = await scene.attempts(webhook)
  expect(attempts.map(({ status_code }) => status_code)).toEqual([301, 302, 303, 307, 308, 200])
  expect(attempts[0]?.detail).toContain('Redirects are not followed')
  expect(elsewhere.received).toEqual([])
})

test('an unreachable receiver gets its messages once it is reachable again', async () => {
  const { port, free } = await refusedPort()
  const webhook = await scene.webhook(tenant, `http://127.0.0.1:${port}/hook`)
  await startNode(scene)
  await scene.event(tenant)
  const row = await tried(webhook, 1)
  expect(await scene.attempts(webhook)).toMatchObject([
    { status_code: null, error: 'connection_refused', address: '127.0.0.1', response_body: null },
  ])
  await free()
  const back = await openReceiver({ port })
  scene.clock.advance(inMs(row))
  await scene.untilSettled(webhook)
  expect(back.received).toHaveLength(1)
})

test('an attempt stores the first KiB of the response, as text that PostgreSQL accepts', async () => {
  const body = Buffer.concat([Buffer.from('a\0\xff'), Buffer.alloc(100_000, 'x')])
  const receiver = await openReceiver({ answer: () => ({ status: 200, body }) })
  const webhook = await scene.webhook(tenant, receiver.url)
  await startNode(scene)
  await scene.event(tenant)
  await scene.untilSettled(webhook)
  const [attempt] = await scene.attempts(webhook)
  expect(attempt?.response_body?.startsWith('a\uFFFD')).toBe(true)
  expect(Buffer.byteLength(attempt?.response_body ?? '')).toBeLessThan(1100)
})
