/** Runs concurrent transactions on one queue in chosen orders. No order leaves a pending delivery unscheduled. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  claimQueues,
  type QueueState,
  releaseQueues,
  unscheduleInactive,
} from '../../src/features/webhooks/engine/claims.store.ts'
import {
  type FanOutEvent,
  insertDeliveries,
  scheduleQueues,
} from '../../src/features/webhooks/engine/fan-out.store.ts'
import { resetCircuit } from '../../src/features/webhooks/engine/queues.store.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { type Gate, gate } from '../sessions/scopes.ts'
import { until } from '../support/until.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let webhook: TestWebhook

beforeEach(async () => {
  scene = await openScene()
  webhook = await scene.webhook(await scene.tenant(), 'https://receiver.test/')
})

const iso = () => new Date(scene.clock.now()).toISOString()

/** Begins a transaction. The transaction commits once the gate is open. */
function begin(work: (tx: TenantTx) => Promise<unknown>) {
  const { pass, open }: Gate = gate()
  const state = { isWorking: false }
  const ended = scene.db.acrossTenants(async (tx) => {
    await work(tx)
    state.isWorking = true
    await pass
  })
  return {
    /** Waits until the transaction has done its work and only the commit is left. */
    worked: () => until('the transaction has done its work', () => state.isWorking || undefined),
    async commit() {
      open()
      await ended
    },
  }
}

/** Waits until a transaction waits for a lock of another transaction. */
async function untilOneWaits(): Promise<void> {
  await until('one waits for the other', async () => {
    const [row] = await scene.database.sql<{ waits: boolean }>(
      `select exists (select from pg_stat_activity where datname = current_database()
         and wait_event_type = 'Lock') as waits`,
    )
    return row?.waits || undefined
  })
}

/** Leases the queue to a process that has no pending delivery to send. */
async function held(): Promise<QueueState> {
  await scene.database.sql('update webhook_queues set due_at = $1', [iso()])
  const claim = { worker: 'one', limit: 1, now: iso() }
  const [queue] = await scene.db.acrossTenants((tx) => claimQueues(tx, claim))
  const { id } = webhook
  const state = {
    failures: 0,
    failure_share: 0,
    failing_since: null,
    failed_at: null,
    slots: 4,
    paused_until: null,
  }
  return { id, epoch: queue?.epoch ?? 0, ...state }
}

/** Creates the deliveries of an event, as the journal consumer does. */
async function fanOut(tx: TenantTx): Promise<void> {
  const { tenant_id } = webhook
  const event: FanOutEvent = { id: 1, tenant_id, action: 'user.created', created_at: iso() }
  insertDeliveries(tx, [event], await scheduleQueues(tx, [event], iso()), iso())
}

describe('an event added while its webhook queue is being released', () => {
  /**
   * The process that releases the queue must not read pending deliveries before the fan-out has committed. Otherwise
   * the process would see none and mark as idle a queue that the fan-out has found due. The delivery would then wait
   * for the next event. The process therefore tries to take the fan-out's lock without waiting. If another transaction
   * has the lock, the process retries later.
   */
  test('makes the queue due if the event is added before the release', async () => {
    const queue = await held()
    const adding = begin(fanOut)
    await adding.worked()
    const release = () => scene.db.acrossTenants((tx) => releaseQueues(tx, [queue]))
    expect(await release()).toEqual([])
    expect((await scene.queue(webhook)).leased_by).toBe('one')
    await adding.commit()
    expect(await release()).toEqual([webhook.id])
    const [delivery] = await scene.deliveries(webhook)
    expect(await scene.queue(webhook)).toMatchObject({ leased_by: null, due_at: delivery?.due_at })
  })

  test('makes the queue due if the event is added after the release', async () => {
    const queue = await held()
    const releasing = begin((tx) => releaseQueues(tx, [queue]))
    await releasing.worked()
    const adding = begin(fanOut)
    await untilOneWaits()
    await releasing.commit()
    await adding.commit()
    expect((await scene.queue(webhook)).due_at).not.toBeNull()
    expect(await scene.deliveries(webhook)).toHaveLength(1)
  })
})

test('claiming queues does not wait for an event that is being added, and the next claim finds its queue', async () => {
  const claim = () =>
    scene.db.acrossTenants((tx) => claimQueues(tx, { worker: 'one', limit: 1, now: iso() }))
  // An earlier event makes the queue due, so that only the fan-out in progress keeps it from being claimed.
  await scene.db.acrossTenants(fanOut)
  const adding = begin(fanOut)
  await adding.worked()
  expect(await claim()).toEqual([])
  await adding.commit()
  expect(await claim()).toHaveLength(1)
})

describe('a webhook that is activated while its queue is being unscheduled', () => {
  const activate = async (tx: TenantTx) => {
    const { id } = webhook
    const active = { is_active: true, disabled_reason: null }
    await tx.db.updateTable('webhooks').set(active).where('id', '=', id).execute()
    await resetCircuit(tx, id, iso())
  }
  const unschedule = (tx: TenantTx) => unscheduleInactive(tx, iso())

  beforeEach(async () => {
    await scene.db.acrossTenants(fanOut)
    await scene.change(webhook, { is_active: false, disabled_reason: 'admin' })
  })

  test('has a due queue if the activation comes first', async () => {
    const activating = begin(activate)
    await activating.worked()
    await scene.db.acrossTenants(unschedule)
    await activating.commit()
    expect((await scene.queue(webhook)).due_at).not.toBeNull()
  })

  test('has a due queue if the activation comes second', async () => {
    const unscheduling = begin(unschedule)
    await unscheduling.worked()
    const activating = begin(activate)
    await untilOneWaits()
    await unscheduling.commit()
    await activating.commit()
    expect((await scene.queue(webhook)).due_at).not.toBeNull()
  })
})
