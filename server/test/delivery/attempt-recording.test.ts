/**
 * The worker records each attempt exactly once, even next to an attempt that cannot be recorded, and after a database
 * outage.
 */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  type DeliveryResult,
  type DueDelivery,
  findDue,
  recordResults,
} from '../../src/features/webhooks/engine/deliveries.store.ts'
import {
  type FanOutEvent,
  insertDeliveries,
} from '../../src/features/webhooks/engine/fan-out.store.ts'
import { createResultWriter } from '../../src/features/webhooks/engine/result-writer.ts'
import type { Attempt } from '../../src/features/webhooks/sending/attempt.ts'
import { MINUTE } from '../../src/lib/clock.ts'
import { systemTime } from '../../src/lib/time.ts'
import { openScopes, type Scopes } from '../../src/platform/db/index.ts'
import { unheard } from '../sessions/scopes.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { silentLog } from '../support/server-address.ts'
import { until } from '../support/until.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let webhook: TestWebhook

beforeEach(async () => {
  scene = await openScene()
  webhook = await scene.webhook(await scene.tenant(), 'https://receiver.test/')
})

const iso = (offset = 0) => new Date(scene.clock.now() + offset).toISOString()

/** Creates due deliveries, and returns them as the engine would fetch them. */
function due(count: number): Promise<DueDelivery[]> {
  const { tenant_id } = webhook
  return scene.db.acrossTenants(async (tx) => {
    const events: FanOutEvent[] = []
    for (let made = 0; made < count; made += 1) {
      const event = await scene.event(tenant_id)
      events.push({ ...event, tenant_id, action: 'department.updated' })
    }
    insertDeliveries(tx, events, [webhook.id], iso(-1))
    return findDue(tx, [{ id: webhook.id, limit: count }], iso())
  })
}

const ATTEMPT: Attempt = {
  started_at: '2026-11-20T12:00:00.000Z',
  duration_ms: 12,
  status_code: 200,
  error: null,
  detail: null,
  address: '192.0.2.1',
  response_body: 'taken',
  retry_after: null,
}

const delivered = (delivery: DueDelivery, fields: Partial<Attempt> = {}): DeliveryResult => ({
  delivery,
  resets: 0,
  attempt: { ...ATTEMPT, ...fields },
  status: 'delivered',
  due_at: null,
})

const refused = (delivery: DueDelivery): DeliveryResult => ({
  ...delivered(delivery, { status_code: 500, error: 'status', detail: 'it answered 500' }),
  status: 'pending',
  due_at: iso(MINUTE),
})

const record = (...results: DeliveryResult[]) =>
  scene.db.acrossTenants(async (tx) => recordResults(tx, results, iso()))

/** Opens a result writer, and collects the outcome of each result. */
function recording(db: Scopes = scene.db) {
  const results = createResultWriter(db, scene.clock, silentLog)
  const heard = new Map<number, boolean>()
  const add = (result: DeliveryResult) =>
    void results.add(result).then(
      () => void heard.set(result.delivery.id, true),
      () => void heard.set(result.delivery.id, false),
    )
  return { results, heard, add }
}

describe('recording a delivery attempt', () => {
  test('stores all its details, and advances the delivery', async () => {
    const [first, second] = await due(2)
    if (!first || !second) throw new Error('two were made')
    await record(delivered(first), refused(second))
    expect(await scene.deliveries(webhook)).toMatchObject([
      { entry_id: first.id, status: 'delivered', attempts: 1, retry_step: 1, due_at: null },
      { entry_id: second.id, status: 'pending', attempts: 1, retry_step: 1, finished_at: null },
    ])
    const { retry_after: _, ...kept } = ATTEMPT
    const attempts = await scene.attempts(webhook)
    expect(attempts).toContainEqual({
      ...kept,
      ...webhookKey(first),
      tenant_id: webhook.tenant_id,
      number: 1,
    })
    expect(attempts).toHaveLength(2)
  })

  test('does not change a delivery that another attempt has changed in the meantime', async () => {
    const [delivery] = await due(1)
    if (!delivery) throw new Error('one was made')
    await record(refused(delivery))
    const [before] = await scene.deliveries(webhook)
    await record(delivered(delivery, { started_at: '2026-11-20T12:00:00.001Z' }))
    const last = delivered(delivery, { started_at: '2026-11-20T12:00:00.002Z' })
    await record({ ...last, status: 'failed' })
    expect(await scene.deliveries(webhook)).toEqual([before])
    expect(before).toMatchObject({ status: 'pending', attempts: 1, retry_step: 1 })
    expect(await scene.attempts(webhook)).toHaveLength(3)
  })

  test('does not count against a delivery that was queued again in the meantime', async () => {
    const [delivery] = await due(1)
    if (!delivery) throw new Error('one was made')
    // Someone queues the delivery again while its tenth attempt is running.
    const last = { ...delivery, attempts: 9, retry_step: 9 }
    await scene.database.sql('update webhook_deliveries set attempts = 9, retry_step = 0')
    const [before] = await scene.deliveries(webhook)
    await record({ ...refused(last), status: 'failed', due_at: null })
    expect(await scene.deliveries(webhook)).toMatchObject([
      { status: 'pending', attempts: 10, retry_step: 0, due_at: before?.due_at, finished_at: null },
    ])
    await record(delivered({ ...last, attempts: 10 }))
    expect(await scene.deliveries(webhook)).toMatchObject([{ status: 'delivered', attempts: 11 }])
  })

  test('counts the attempt of a finished delivery, and does not reopen the delivery', async () => {
    const [delivery] = await due(1)
    if (!delivery) throw new Error('one was made')
    await record(delivered(delivery))
    const [before] = await scene.deliveries(webhook)
    await record(refused({ ...delivery, attempts: 1, retry_step: 1 }))
    expect(before).toMatchObject({ status: 'delivered', attempts: 1 })
    expect(await scene.deliveries(webhook)).toEqual([{ ...before, attempts: 2 }])
  })
})

const webhookKey = ({ webhook_id, id, created_at }: DueDelivery) => ({
  webhook_id,
  entry_id: id,
  event_at: created_at,
})

test('a temporary database fault, such as a full disk, loses no attempt', async () => {
  const { sql } = scene.database
  await sql(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'full' using errcode = '53100'; end $$`)
  await sql(
    'create trigger full_disk before insert on webhook_attempts for each statement execute function refuse()',
  )
  const [delivery] = await due(1)
  if (!delivery) throw new Error('one was made')
  const { results, heard, add } = recording()
  add(delivered(delivery))
  await until('it has failed', async () => {
    const [row] = await sql<{ count: number }>(
      'select xact_rollback as count from pg_stat_database where datname = current_database()',
    )
    return (row?.count ?? 0) > 0 || undefined
  })
  expect(heard.size).toBe(0)
  await sql('drop trigger full_disk on webhook_attempts')
  await until('it is written down', () => heard.get(delivery.id))
  await results.stop(0)
  expect(await scene.deliveries(webhook)).toMatchObject([{ status: 'delivered' }])
})

test('an attempt that PostgreSQL refuses does not prevent other attempts from being recorded', async () => {
  const deliveries = await due(30)
  const { results, heard, add } = recording()
  const poisoned = [deliveries[0], deliveries[13], deliveries[29]].map((one) => one?.id)
  for (const delivery of deliveries)
    add(delivered(delivery, poisoned.includes(delivery.id) ? { response_body: 'a\0b' } : {}))
  await until('all are dealt with', () => heard.size === 30 || undefined)
  await results.stop(0)
  expect(deliveries.filter(({ id }) => !heard.get(id)).map(({ id }) => id)).toEqual(poisoned)
  const rows = await scene.deliveries(webhook)
  expect(rows.filter(({ status }) => status === 'pending').map((row) => row.entry_id)).toEqual(
    poisoned,
  )
  expect(await scene.attempts(webhook)).toHaveLength(27)
})

describe('while the database is unavailable,', () => {
  async function reach() {
    const proxy = await proxyTo(scene.database)
    const address = { url: proxy.url }
    const db = openScopes(address, { clock: systemTime, size: 2, changes: unheard, log: silentLog })
    onTestFinished(() => db.close())
    return { proxy, db }
  }

  test('attempts are kept in memory, and recorded once the database is available again', async () => {
    const deliveries = await due(20)
    const { proxy, db } = await reach()
    const { heard, add } = recording(db)
    await proxy.refuse()
    for (const delivery of deliveries.slice(0, 10)) add(delivered(delivery))
    await expect(db.ping()).rejects.toThrow()
    for (const delivery of deliveries.slice(10)) add(delivered(delivery))
    expect(heard.size).toBe(0)
    await proxy.open()
    await until('all are written down', () => heard.size === 20 || undefined)
    expect([...heard.values()].every(Boolean)).toBe(true)
    const rows = await scene.deliveries(webhook)
    expect(rows.map(({ status, attempts }) => [status, attempts])).toEqual(
      deliveries.map(() => ['delivered', 1]),
    )
    expect(await scene.attempts(webhook)).toHaveLength(20)
  })

  test('shutdown waits for attempts to be recorded, up to its time limit', async () => {
    const [delivery] = await due(1)
    if (!delivery) throw new Error('one was made')
    const { proxy, db } = await reach()
    const { results, heard, add } = recording(db)
    await proxy.refuse()
    add(delivered(delivery))
    await results.stop(50)
    expect(heard.size).toBe(0)
    expect(await scene.deliveries(webhook)).toMatchObject([{ status: 'pending', attempts: 0 }])
  })

  test('an attempt is recorded only once if the acknowledgement of its commit is lost', async () => {
    const [delivery] = await due(1)
    if (!delivery) throw new Error('one was made')
    const { proxy, db } = await reach()
    const { heard, add } = recording(db)
    proxy.loseCommitAnswerOf('webhook_attempts')
    add(refused(delivery))
    await until('it is written down', () => heard.get(delivery.id))
    expect(proxy.lost()).toBe(1)
    expect(await scene.deliveries(webhook)).toMatchObject([{ attempts: 1, retry_step: 1 }])
    expect(await scene.attempts(webhook)).toHaveLength(1)
  })
})
