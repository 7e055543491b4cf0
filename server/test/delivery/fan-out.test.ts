/** The fan-out creates one delivery of an event for each subscribed webhook of the tenant. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { followWebhookEvents } from '../../src/features/webhooks/engine/fan-out.ts'
import { systemTime } from '../../src/lib/time.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { append, SYSTEM } from '../../src/platform/journal/index.ts'
import { untilRead } from '../support/journal.ts'
import { silentLog } from '../support/server-address.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

const URL = 'https://receiver.test/'

let scene: Scene

beforeEach(async () => {
  scene = await openScene()
})

/** Starts reading the journal, without sending messages. */
function startReading(): void {
  const changes = watchChanges(scene.database.address, silentLog, systemTime)
  const { db, clock } = scene
  const consumer = followWebhookEvents({ db, changes, clock, log: silentLog, pollMs: 50 })
  onTestFinished(async () => {
    await consumer.stop()
    await changes.stop()
  })
}

/** Waits until the whole journal is read. */
const allRead = () => untilRead(scene.database, 'webhooks')

const wanted = async (webhook: TestWebhook) =>
  (await scene.deliveries(webhook)).map(({ event }) => event)

describe('a webhook is sent', () => {
  test('the events that it subscribes to: by name, by group, or all', async () => {
    const tenant = await scene.tenant()
    const subscribed = (events: string[]) => scene.webhook(tenant, URL, { events })
    const named = await subscribed(['user.blocked', 'tenant.updated'])
    const grouped = await subscribed(['user.*'])
    const all = await subscribed(['*'])
    const several = await subscribed(['*', 'user.*', 'user.blocked'])
    const other = await subscribed(['backup.*', 'user.updated'])
    startReading()
    const actions = [
      'user.blocked',
      'user.created',
      'tenant.updated',
      'department.deleted',
    ] as const
    for (const action of actions) await scene.event(tenant, action)
    await allRead()
    expect(await wanted(named)).toEqual(['user.blocked', 'tenant.updated'])
    expect(await wanted(grouped)).toEqual(['user.blocked', 'user.created'])
    expect(await wanted(all)).toEqual(actions)
    expect(await wanted(several)).toEqual(actions)
    expect(await wanted(other)).toEqual([])
  })

  test('no events of another tenant, and no events without a tenant', async () => {
    const [ours, theirs] = [await scene.tenant(), await scene.tenant()]
    const webhooks = [await scene.webhook(ours, URL), await scene.webhook(theirs, URL)] as const
    startReading()
    const event = await scene.event(theirs)
    const entry = { action: 'auth.login_failed', tenant_id: null, resource_type: 'user' } as const
    await scene.db.acrossTenants((tx) => append(tx, SYSTEM, entry))
    await allRead()
    expect(await wanted(webhooks[0])).toEqual([])
    expect(await scene.deliveries(webhooks[1])).toMatchObject([
      { tenant_id: theirs, entry_id: event.id, status: 'pending', attempts: 0, retry_step: 0 },
    ])
  })

  test('only public events: no webhook tests, and no private entries', async () => {
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, URL, { events: ['*', 'webhook.test', 'access.*'] })
    startReading()
    for (const action of ['webhook.test', 'access.refused', 'webhook.updated'] as const)
      await scene.event(tenant, action)
    await scene.event(tenant, 'user.created')
    await allRead()
    expect(await wanted(webhook)).toEqual(['user.created'])
  })

  test('no events that happened before its registration', async () => {
    const tenant = await scene.tenant()
    await scene.event(tenant, 'user.created')
    // Times are stored in milliseconds, so these two times must differ by at least one.
    await scene.database.sql('select pg_sleep(0.003)')
    const webhook = await scene.webhook(tenant, URL)
    await scene.event(tenant, 'user.updated')
    startReading()
    await allRead()
    expect(await wanted(webhook)).toEqual(['user.updated'])
  })

  test('the events that happened while it was inactive, after its reactivation', async () => {
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, URL)
    await scene.change(webhook, { is_active: false, disabled_reason: 'admin' })
    startReading()
    await scene.event(tenant, 'user.created')
    await allRead()
    expect(await wanted(webhook)).toEqual(['user.created'])
  })
})

describe('an event becomes one delivery per webhook', () => {
  test('even if the event is read several times', async () => {
    const tenant = await scene.tenant()
    const webhook = await scene.webhook(tenant, URL)
    for (let count = 0; count < 5; count += 1) await scene.event(tenant)
    startReading()
    await allRead()
    const before = await scene.deliveries(webhook)
    const { sql } = scene.database
    await sql(
      `update webhook_deliveries set status = 'delivered', due_at = null where entry_id = $1`,
      [before[0]?.entry_id],
    )
    await sql(`update journal_consumers set xid = '0', id = 0 where consumer = 'webhooks'`)
    await allRead()
    const after = await scene.deliveries(webhook)
    expect(after.map(({ entry_id }) => entry_id)).toEqual(before.map(({ entry_id }) => entry_id))
    expect(after.map(({ status }) => status)).toEqual(['delivered', ...Array(4).fill('pending')])
  })

  test('even if several processes read the event', async () => {
    const tenant = await scene.tenant()
    const webhooks = await Promise.all([1, 2, 3].map(() => scene.webhook(tenant, URL)))
    for (let count = 0; count < 3; count += 1) startReading()
    const events = await Promise.all(Array.from({ length: 60 }, () => scene.event(tenant)))
    await allRead()
    const ids = events.map(({ id }) => id).sort((one, other) => one - other)
    for (const webhook of webhooks) {
      const rows = await scene.deliveries(webhook)
      expect(rows.map(({ entry_id }) => entry_id).sort((one, other) => one - other)).toEqual(ids)
    }
  })
})

test('an event on a day without a partition creates that partition', async () => {
  const { sql } = scene.database
  await sql(`create table journal_2020_01 partition of journal
    for values from ('2020-01-01T00:00Z') to ('2020-02-01T00:00Z')`)
  const tenant = await scene.tenant()
  const webhook = await scene.webhook(tenant, URL)
  await sql(`update webhooks set created_at = '2020-01-01'`)
  // Adds entries at the last moment of one day and the first moment of another day to one batch.
  for (const at of ['2020-01-15T23:59:59.999Z', '2020-01-17T00:00:00.000Z'])
    await sql(
      `insert into journal (tenant_id, action, resource_type, created_at)
       values ($1, 'user.created', 'user', $2)`,
      [tenant, at],
    )
  startReading()
  await allRead()
  expect((await scene.deliveries(webhook)).map(({ event_at }) => event_at)).toEqual([
    '2020-01-15T23:59:59.999Z',
    '2020-01-17T00:00:00.000Z',
  ])
  const tables = await sql<{ name: string; is_forced: boolean }>(
    `select relname as name, relrowsecurity and relforcerowsecurity as is_forced from pg_class
     where relname ~ '^webhook_[a-z]+_2020_01_..$' order by 1`,
  )
  expect(tables).toEqual(
    ['attempts_2020_01_15', 'attempts_2020_01_17']
      .flatMap((name) => [name, name.replace('attempts', 'deliveries')])
      .sort()
      .map((name) => ({ name: `webhook_${name}`, is_forced: true })),
  )
})

test('events with years between them are processed as usual, without partitions for the days in between', async () => {
  const { sql } = scene.database
  for (const [name, from, to] of [
    ['journal_2020_01', '2020-01-01', '2020-02-01'],
    ['journal_2019_01', '2019-01-01', '2019-02-01'],
  ])
    await sql(`create table ${name} partition of journal
      for values from ('${from}T00:00Z') to ('${to}T00:00Z')`)
  const tenant = await scene.tenant()
  const webhook = await scene.webhook(tenant, URL, { events: ['user.*'] })
  await sql(`update webhooks set created_at = '2019-01-01'`)
  for (const [action, at] of [
    ['user.created', '2020-01-15T10:00:00.000Z'],
    ['tenant.updated', '2019-01-17T10:00:00.000Z'],
  ])
    await sql(
      `insert into journal (tenant_id, action, resource_type, created_at) values ($1, $2, 'user', $3)`,
      [tenant, action, at],
    )
  await scene.event(tenant, 'user.updated')
  startReading()
  await allRead()
  expect(await wanted(webhook)).toEqual(['user.created', 'user.updated'])
  const days = await sql<{ day: string }>(
    `select day::text from webhook_partition_days() as day where day < '2021-01-01'`,
  )
  expect(days).toEqual([{ day: '2020-01-15' }])
})

test('a new delivery makes only the queue of its own webhook due', async () => {
  const tenant = await scene.tenant()
  const [one, other] = [
    await scene.webhook(tenant, URL, { events: ['user.*'] }),
    await scene.webhook(tenant, URL, { events: ['tenant.*'] }),
  ]
  startReading()
  await scene.event(tenant, 'user.created')
  await allRead()
  const due = (await scene.queue(one)).due_at
  expect(due).not.toBeNull()
  expect((await scene.queue(other)).due_at).toBeNull()
  // A later event must not postpone a queue that is already due.
  await scene.event(tenant, 'user.updated')
  await allRead()
  expect((await scene.queue(one)).due_at).toBe(due)
})
