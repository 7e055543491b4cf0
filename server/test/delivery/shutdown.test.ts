/** A process stops or is killed. Another process sends the messages that were in flight. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Scopes } from '../../src/platform/db/index.ts'
import { gate } from '../sessions/scopes.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let receiver: Receiver
let webhook: TestWebhook

beforeEach(async () => {
  scene = await openScene()
  receiver = await openReceiver()
  const tenant = await scene.tenant()
  webhook = await scene.webhook(tenant, receiver.url)
  for (let count = 0; count < 4; count += 1) await scene.event(tenant)
})

const idsOf = (requests: Receiver['received']) => requests.map(({ id }) => id).sort()

const arrived = (count: number) =>
  until(`${count} requests`, () => receiver.received.length >= count || undefined)

describe('a process that shuts down', () => {
  test('lets running requests end, and records their results', async () => {
    const { pass, open } = gate()
    receiver.answerWith(async () => {
      await pass
      return { status: 200 }
    })
    const node = await startNode(scene)
    await arrived(4)
    const stopped = node.stop(60_000)
    open()
    await stopped
    expect((await scene.deliveries(webhook)).map(({ status }) => status)).toEqual(
      Array(4).fill('delivered'),
    )
    expect(await scene.queue(webhook)).toMatchObject({ leased_by: null, due_at: null })
  })

  test('releases requests that do not end in time, and another process sends their messages with the same IDs', async () => {
    receiver.answerWith(() => 'stall')
    const node = await startNode(scene)
    await arrived(4)
    await node.stop(50)
    expect(await scene.queue(webhook)).toMatchObject({ leased_by: null, leased_until: null })
    // The release neither changes the receiver's state nor counts as an attempt.
    expect(await scene.attempts(webhook)).toEqual([])
    expect(await scene.queue(webhook)).toMatchObject({ failures: 0, failing_since: null })
    receiver.answerWith(() => ({ status: 200 }))
    await startNode(scene)
    await scene.untilSettled(webhook, 4)
    const { received } = receiver
    expect(idsOf(received.slice(4))).toEqual(idsOf(received.slice(0, 4)))
  })

  test('starts no further requests', async () => {
    const { pass, open } = gate()
    receiver.answerWith(async () => {
      await pass
      return { status: 200 }
    })
    for (let count = 0; count < 20; count += 1) await scene.event(webhook.tenant_id)
    const node = await startNode(scene)
    await arrived(4)
    const stopped = node.stop(60_000)
    open()
    await stopped
    expect(receiver.received).toHaveLength(4)
    // Unsent messages are due immediately for the next process.
    const { due_at } = await scene.queue(webhook)
    expect(Date.parse(due_at ?? '')).toBeLessThanOrEqual(scene.clock.now())
  })

  test('releases an idle webhook immediately, while it waits for requests of other webhooks', async () => {
    const { pass, open } = gate()
    receiver.answerWith(async ({ path }) => {
      if (!path.endsWith('/quiet')) await pass
      return { status: 200 }
    })
    const quiet = await scene.webhook(webhook.tenant_id, `${receiver.url}/quiet`)
    const node = await startNode(scene, { tuning: { idleTimeoutMs: 3_600_000 } })
    await scene.event(webhook.tenant_id)
    await scene.untilSettled(quiet)
    await arrived(5)
    expect((await scene.queue(quiet)).leased_by).not.toBeNull()
    const stopped = node.stop(60_000)
    await until('it is given back', async () => {
      const { leased_by } = await scene.queue(quiet)
      return leased_by === null || undefined
    })
    expect((await scene.queue(webhook)).leased_by).not.toBeNull()
    open()
    await stopped
  })

  test('also releases queues that another transaction has locked', async () => {
    let looks = 0
    const counted = (db: Scopes): Scopes => ({
      ...db,
      acrossTenants(...args) {
        looks += 1
        return db.acrossTenants(...args)
      },
    })
    const node = await startNode(scene, { tuning: { idleTimeoutMs: 3_600_000 }, db: counted })
    await scene.untilSettled(webhook, 4)
    const { pass, open } = gate()
    const { pass: isLocked, open: locked } = gate()
    const lock = scene.db.acrossTenants(async (tx) => {
      await tx.db.selectFrom('webhook_queues').select('epoch').forUpdate().execute()
      locked()
      await pass
    })
    await isLocked
    const ended: string[] = []
    const stopped = node.stop(60_000).then(() => ended.push('the stop'))
    // The process keeps retrying while the row is locked, even long after all other work has ended.
    const before = looks
    await until('it has come back for it', () => looks > before + 10 || undefined)
    ended.push('the lock')
    open()
    await Promise.all([lock, stopped])
    expect(ended).toEqual(['the lock', 'the stop'])
    expect(await scene.queue(webhook)).toMatchObject({ leased_by: null, leased_until: null })
  })

  test('ends immediately if no request is running', async () => {
    const node = await startNode(scene)
    await scene.untilSettled(webhook, 4)
    await node.stop(3_600_000)
    expect(await scene.queue(webhook)).toMatchObject({ leased_by: null })
  })
})

describe('a process that has lost its database connection', () => {
  /** Starts a process that stalls while sending and then loses the database. */
  async function lost() {
    const proxy = await proxyTo(scene.database)
    const { pass, open } = gate()
    receiver.answerWith(async () => {
      await pass
      return { status: 200 }
    })
    await startNode(scene, { address: { url: proxy.url } })
    await arrived(4)
    await proxy.refuse()
    receiver.answerWith(() => ({ status: 200 }))
    return { proxy, answerOld: open }
  }

  /** Makes the lease expire without waiting. */
  const expireLease = () =>
    scene.database.sql(`update webhook_queues set leased_until = now() - interval '1 ms'`)

  test('is replaced once its lease has expired, and the messages keep their IDs', async () => {
    await lost()
    await expireLease()
    await startNode(scene)
    await scene.untilSettled(webhook, 4)
    const { received } = receiver
    expect(received).toHaveLength(8)
    expect(idsOf(received.slice(4))).toEqual(idsOf(received.slice(0, 4)))
  })

  test('records its results after reconnecting, and does not overwrite the results of other processes', async () => {
    const { proxy, answerOld } = await lost()
    await expireLease()
    await startNode(scene)
    await scene.untilSettled(webhook, 4)
    const before = await scene.deliveries(webhook)
    answerOld()
    await proxy.open()
    await until(
      'its own tries are written down',
      async () => (await scene.attempts(webhook)).length === 8 || undefined,
    )
    expect(await scene.deliveries(webhook)).toEqual(before)
    expect(receiver.received).toHaveLength(8)
  })

  test('continues to send if no other process has replaced it', async () => {
    const { proxy, answerOld } = await lost()
    const { message } = await scene.event(webhook.tenant_id)
    answerOld()
    await proxy.open()
    await scene.untilSettled(webhook, 5)
    expect(receiver.received.filter(({ id }) => id === message)).toHaveLength(1)
    expect(receiver.received).toHaveLength(5)
  })
})
