/** Who sends for a webhook: claims of queues, their leases, and what is left when they are let go of. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  type ClaimedQueue,
  claimQueues,
  releaseQueues,
  renewLeases,
  saveQueues,
  unscheduleInactive,
} from '../../src/features/webhooks/engine/claims.store.ts'
import { endLease, resetCircuit } from '../../src/features/webhooks/engine/queues.store.ts'
import { MINUTE } from '../../src/lib/clock.ts'
import { openScene, type Scene, SECRET, type TestWebhook } from './scene.ts'

const URL = 'https://receiver.test/'

let scene: Scene

beforeEach(async () => {
  scene = await openScene()
})

const iso = (offset = 0) => new Date(scene.clock.now() + offset).toISOString()

/** Makes webhooks with something due; what is due first comes first. */
async function due(tenantId: number, count = 1): Promise<TestWebhook[]> {
  const webhooks: TestWebhook[] = []
  for (let index = 0; index < count; index += 1) {
    const webhook = await scene.webhook(tenantId, URL, { secrets: [] })
    await set(webhook, { due_at: iso(-MINUTE + index) })
    webhooks.push(webhook)
  }
  return webhooks
}

async function set(webhook: TestWebhook, fields: Record<string, unknown>): Promise<void> {
  for (const [name, value] of Object.entries(fields))
    await scene.database.sql(`update webhook_queues set ${name} = $2 where webhook_id = $1`, [
      webhook.id,
      value,
    ])
}

const claim = (worker = 'one', limit = 100, now = iso()) =>
  scene.db.acrossTenants((tx) => claimQueues(tx, { worker, limit, now }))

const idsOf = (queues: ClaimedQueue[]) => queues.map(({ webhook_id }) => webhook_id).sort()

const expire = () =>
  scene.database.sql(`update webhook_queues set leased_until = now() - interval '1 ms'`)

describe('a claim takes', () => {
  test('queues with something due, and all that is needed to send for them', async () => {
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, URL, { secrets: ['an old secret ...', SECRET] })
    await set(webhook, { due_at: iso(), failures: 2, slots: 3 })
    const queues = await claim()
    expect(queues).toMatchObject([
      { webhook_id: webhook.id, tenant_id: tenant, epoch: 1, failures: 2, slots: 3, url: URL },
    ])
    const [current] = await scene.database.sql(
      'select id from webhook_secrets where expires_at is null',
    )
    expect(queues[0]?.secrets).toHaveLength(2)
    expect(queues[0]?.secrets[0]?.id).toBe(current?.id)
  })

  test('no queue that is idle, paused, due later, or of an inactive webhook', async () => {
    const [idle, paused, later, inactive, ready] = await due(await scene.tenant(), 5)
    if (!idle || !paused || !later || !inactive || !ready) throw new Error('five were made')
    await set(idle, { due_at: null })
    await set(paused, { paused_until: iso(MINUTE) })
    await set(later, { due_at: iso(MINUTE) })
    await scene.change(inactive, { is_active: false, disabled_reason: 'admin' })
    expect(idsOf(await claim())).toEqual([ready.id])
    // A minute later the pause has ended and the other is due.
    expect(idsOf(await claim('one', 100, iso(MINUTE)))).toEqual([paused.id, later.id].sort())
  })

  test('queues of a tenant that was just deleted, so that it hears of that, but soon no more', async () => {
    const tenant = await scene.tenant()
    await due(tenant)
    const deleted = (ago: string) =>
      scene.database.sql(`update tenants set deleted_at = now() - $2::interval where id = $1`, [
        tenant,
        ago,
      ])
    await deleted('2 hours')
    expect(await claim()).toEqual([])
    await deleted('1 minute')
    expect(await claim()).toHaveLength(1)
  })

  test('each queue for one of many processes that claim at once', async () => {
    const tenants = await Promise.all(Array.from({ length: 6 }, () => scene.tenant()))
    const webhooks = (await Promise.all(tenants.map((tenant) => due(tenant, 10)))).flat()
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, worker) => claim(`worker ${worker}`, 20)),
    )
    const taken = claims.flatMap(idsOf)
    expect(new Set(taken).size).toBe(taken.length)
    // Whom others were in the way of comes again.
    const rest = idsOf(await claim('last'))
    expect([...taken, ...rest].sort()).toEqual(webhooks.map(({ id }) => id).sort())
  })

  test('a queue whose lease has ended, and none whose lease holds', async () => {
    const [webhook] = await due(await scene.tenant())
    expect(await claim('one')).toHaveLength(1)
    expect(await claim('two')).toEqual([])
    await expire()
    expect(await claim('two')).toMatchObject([{ webhook_id: webhook?.id, epoch: 2 }])
  })

  test('one queue of each of ten tenants, though one of them has fifty', async () => {
    const crowd = await due(await scene.tenant(), 50)
    const singles: TestWebhook[] = []
    for (let count = 0; count < 9; count += 1) singles.push(...(await due(await scene.tenant())))
    const queues = await claim('one', 10)
    expect(idsOf(queues)).toEqual([crowd[0]?.id, ...singles.map(({ id }) => id)].sort())
  })

  test('first the queues of tenants that have none at work', async () => {
    const [busy, free] = [await scene.tenant(), await scene.tenant()]
    await due(busy, 10)
    await claim('one', 3)
    const [single] = await due(free)
    expect(idsOf(await claim('two', 1))).toEqual([single?.id])
  })
})

describe('a lease', () => {
  test('is renewed for the one who has it, and for nobody else', async () => {
    const webhooks = await due(await scene.tenant(), 3)
    const queues = (await claim('one')).map(({ webhook_id: id, epoch }) => ({ id, epoch }))
    await expire()
    const [lost] = await claim('two', 1)
    const kept = await scene.db.acrossTenants((tx) => renewLeases(tx, queues))
    expect(kept.flatMap(({ id, isRenewed }) => (isRenewed ? [id] : [])).sort()).toEqual(
      webhooks
        .map(({ id }) => id)
        .filter((id) => id !== lost?.webhook_id)
        .sort(),
    )
    expect(await claim('three')).toEqual([])
  })

  test('is not renewed once it was let go of: it can be claimed at once', async () => {
    const tenant = await scene.tenant()
    await due(tenant)
    const [queue] = await claim()
    const state = { ...(queue as ClaimedQueue), id: queue?.webhook_id ?? 0 }
    await scene.db.acrossTenants((tx) => releaseQueues(tx, [state]))
    // A heartbeat that began before it was let go of.
    expect(await scene.db.acrossTenants((tx) => renewLeases(tx, [state]))).toEqual([
      { id: state.id, isRenewed: false, isLost: false },
    ])
    await scene.database.sql('update webhook_queues set due_at = $1', [iso()])
    expect(await claim('two')).toHaveLength(1)
  })

  test('is lost and still held when its webhook is read anew, and its circuit is kept', async () => {
    const [webhook] = await due(await scene.tenant())
    if (!webhook) throw new Error('one was made')
    const [queue] = (await claim('one')).map((one) => ({ ...one, id: one.webhook_id }))
    await scene.db.inTenant(webhook.tenant_id, (tx) => endLease(tx, webhook.id))
    const renew = () => scene.db.acrossTenants((tx) => renewLeases(tx, queue ? [queue] : []))
    for (let heartbeat = 0; heartbeat < 2; heartbeat += 1)
      expect(await renew()).toEqual([{ id: webhook.id, isRenewed: true, isLost: true }])
    expect(await claim('two')).toEqual([])
    const failing = queue ? [{ ...queue, failures: 7 }] : []
    await scene.db.acrossTenants((tx) => releaseQueues(tx, failing))
    expect(await scene.queue(webhook)).toMatchObject({ failures: 7, leased_until: null })
  })

  test('ends when the webhook starts afresh, and its circuit is not written back', async () => {
    const [webhook] = await due(await scene.tenant())
    if (!webhook) throw new Error('one was made')
    const [queue] = await claim('one')
    await scene.db.inTenant(webhook.tenant_id, (tx) => resetCircuit(tx, webhook.id, iso(), 'same'))
    const old = { id: webhook.id, epoch: queue?.epoch ?? 0, failing_since: iso() }
    const was = { failed_at: iso(), failures: 7, failure_share: 0.5, slots: 1 }
    const state = { ...old, ...was, paused_until: iso(MINUTE) }
    await scene.db.acrossTenants((tx) => saveQueues(tx, [state]))
    expect(await scene.db.acrossTenants((tx) => renewLeases(tx, [state]))).toEqual([
      { id: webhook.id, isRenewed: false, isLost: true },
    ])
    // What is under way is not sent by another one meanwhile.
    expect(await claim('two')).toEqual([])
    await scene.db.acrossTenants((tx) => releaseQueues(tx, [state]))
    expect(await scene.queue(webhook)).toMatchObject({
      failures: 0,
      failure_share: 0,
      failing_since: null,
      slots: 4,
      paused_until: null,
      leased_by: null,
    })
    expect(await claim('two')).toHaveLength(1)
  })
})

test('a queue that is let go of keeps its circuit, and is idle where nothing waits', async () => {
  const [webhook] = await due(await scene.tenant())
  if (!webhook) throw new Error('one was made')
  const [queue] = await claim('one')
  const state = {
    failures: 6,
    failure_share: 0.3125,
    failing_since: iso(-MINUTE),
    failed_at: iso(),
    slots: 1,
    paused_until: iso(MINUTE),
  }
  const { id } = webhook
  await scene.db.acrossTenants((tx) =>
    releaseQueues(tx, [{ id, epoch: queue?.epoch ?? 0, ...state }]),
  )
  expect(await scene.queue(webhook)).toMatchObject({
    ...state,
    due_at: null,
    leased_by: null,
    leased_until: null,
  })
})

test('queues of inactive webhooks are taken off the list, and come back with their activation', async () => {
  const [inactive, active] = await due(await scene.tenant(), 2)
  if (!inactive || !active) throw new Error('two were made')
  await scene.change(inactive, { is_active: false, disabled_reason: 'admin' })
  await scene.db.acrossTenants((tx) => unscheduleInactive(tx, iso()))
  expect((await scene.queue(inactive)).due_at).toBeNull()
  expect((await scene.queue(active)).due_at).not.toBeNull()
  await scene.db.inTenant(inactive.tenant_id, (tx) => resetCircuit(tx, inactive.id, iso()))
  expect((await scene.queue(inactive)).due_at).not.toBeNull()
})
