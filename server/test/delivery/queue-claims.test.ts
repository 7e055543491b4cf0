/** How processes claim webhook queues, keep their leases, and store the state of a queue when they release it. */
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

/** Creates webhooks with due queues, the earliest first. */
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

describe('claiming webhook queues', () => {
  test('returns due queues, with everything needed to send', async () => {
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

  test('returns no queue that is idle, paused, due later, or belongs to an inactive webhook', async () => {
    const [idle, paused, later, inactive, ready] = await due(await scene.tenant(), 5)
    if (!idle || !paused || !later || !inactive || !ready) throw new Error('five were made')
    await set(idle, { due_at: null })
    await set(paused, { paused_until: iso(MINUTE) })
    await set(later, { due_at: iso(MINUTE) })
    await scene.change(inactive, { is_active: false, disabled_reason: 'admin' })
    expect(idsOf(await claim())).toEqual([ready.id])
    // A minute later, the pause has ended and the other queue is due.
    expect(idsOf(await claim('one', 100, iso(MINUTE)))).toEqual([paused.id, later.id].sort())
  })

  test('returns queues of a tenant deleted within the last hour, which still receives the deletion event', async () => {
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

  test('returns each queue to only one of many processes that claim simultaneously', async () => {
    const tenants = await Promise.all(Array.from({ length: 6 }, () => scene.tenant()))
    const webhooks = (await Promise.all(tenants.map((tenant) => due(tenant, 10)))).flat()
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, worker) => claim(`worker ${worker}`, 20)),
    )
    const taken = claims.flatMap(idsOf)
    expect(new Set(taken).size).toBe(taken.length)
    // Queues that were locked by another claim are claimed later.
    const rest = idsOf(await claim('last'))
    expect([...taken, ...rest].sort()).toEqual(webhooks.map(({ id }) => id).sort())
  })

  test('returns queues whose lease has expired, and no queue with a valid lease', async () => {
    const [webhook] = await due(await scene.tenant())
    expect(await claim('one')).toHaveLength(1)
    expect(await claim('two')).toEqual([])
    await expire()
    expect(await claim('two')).toMatchObject([{ webhook_id: webhook?.id, epoch: 2 }])
  })

  test('returns one queue for each of ten tenants, although one tenant has fifty due queues', async () => {
    const crowd = await due(await scene.tenant(), 50)
    const singles: TestWebhook[] = []
    for (let count = 0; count < 9; count += 1) singles.push(...(await due(await scene.tenant())))
    const queues = await claim('one', 10)
    expect(idsOf(queues)).toEqual([crowd[0]?.id, ...singles.map(({ id }) => id)].sort())
  })

  test('returns queues of tenants without a leased queue first', async () => {
    const [busy, free] = [await scene.tenant(), await scene.tenant()]
    await due(busy, 10)
    await claim('one', 3)
    const [single] = await due(free)
    expect(idsOf(await claim('two', 1))).toEqual([single?.id])
  })
})

describe('the lease of a webhook queue', () => {
  test('is renewed only for its holder', async () => {
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

  test('is not renewed after its release, and another process can then claim the queue immediately', async () => {
    const tenant = await scene.tenant()
    await due(tenant)
    const [queue] = await claim()
    const state = { ...(queue as ClaimedQueue), id: queue?.webhook_id ?? 0 }
    await scene.db.acrossTenants((tx) => releaseQueues(tx, [state]))
    // Simulates a heartbeat that began before the release.
    expect(await scene.db.acrossTenants((tx) => renewLeases(tx, [state]))).toEqual([
      { id: state.id, isRenewed: false, isLost: false },
    ])
    await scene.database.sql('update webhook_queues set due_at = $1', [iso()])
    expect(await claim('two')).toHaveLength(1)
  })

  test('stays with its holder until released after a change of the webhook, and the circuit state is kept', async () => {
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

  test('ends when the webhook is reset, and the former circuit state is not written back', async () => {
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
    // No other worker may send a message that is still being sent.
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

test('a released queue keeps its circuit state, and becomes idle if no delivery is pending', async () => {
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

test('queues of inactive webhooks are not scheduled, and are scheduled again on activation', async () => {
  const [inactive, active] = await due(await scene.tenant(), 2)
  if (!inactive || !active) throw new Error('two were made')
  await scene.change(inactive, { is_active: false, disabled_reason: 'admin' })
  await scene.db.acrossTenants((tx) => unscheduleInactive(tx, iso()))
  expect((await scene.queue(inactive)).due_at).toBeNull()
  expect((await scene.queue(active)).due_at).not.toBeNull()
  await scene.db.inTenant(inactive.tenant_id, (tx) => resetCircuit(tx, inactive.id, iso()))
  expect((await scene.queue(inactive)).due_at).not.toBeNull()
})
