/** A replay queues past events again, in batches. Interruptions do not change the result. */
import { beforeAll, describe, expect, test } from 'vitest'
import { replaysService, runReplay } from '../../src/features/webhooks/replays/replays.service.ts'
import { DAY, HOUR } from '../../src/lib/clock.ts'
import type { Scopes } from '../../src/platform/db/index.ts'
import { openNode, rowsOf } from '../support/jobs.ts'
import { until } from '../support/until.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic

beforeAll(async () => {
  at = await openClinic()
})

const iso = (ms: number) => new Date(ms).toISOString()
const ago = (ms: number) => iso(at.service.clock.now() - ms)
const order = (id: number, since: string, until?: string) =>
  at.call('POST', `/${id}/replay`, { body: { since, ...(until ? { until } : {}) } })
const { signal } = new AbortController()

/** Runs the requested replays, as the job does. */
async function work({ db = at.service.app.db, halt = signal } = {}): Promise<void> {
  const { sql } = at.service.database
  const replays = await sql<{ id: number; tenant_id: number }>(
    "select id, tenant_id from webhook_replays where state = 'running'",
  )
  const deps = { db, clock: at.service.clock }
  for (const replay of replays) await runReplay(deps, replay, halt)
}

const shown = async (id: number, replay: number) =>
  (await at.call('GET', `/${id}/replays/${replay}`)).body

const deliveriesOf = (id: number) =>
  at.service.database.sql<Record<string, any>>(
    `select entry_id, event_at, event, status, attempts, retry_step, due_at
     from webhook_deliveries where webhook_id = $1 order by entry_id`,
    [id],
  )

/** Returns the tenant's journal entries with these actions. */
const journaled = (...actions: string[]) =>
  at.service.database.sql<{ id: number }>(
    'select id from journal where tenant_id = $1 and action = any($2) order by id',
    [at.clinic.id, actions],
  )

/** Writes past entries into the journal, three per millisecond. */
async function past(time: string, count: number, action = 'user.updated'): Promise<void> {
  const { sql } = at.service.database
  const start = new Date(time)
  const month = (ahead: number) =>
    iso(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + ahead)).slice(0, 10)
  await sql(
    `create table if not exists journal_${month(0).replaceAll('-', '_')} partition of journal
     for values from ('${month(0)} 00:00:00+00') to ('${month(1)} 00:00:00+00')`,
  ).catch((error: { code?: string }) => {
    // Ignores the error that the partition already exists under its usual name.
    if (error.code !== '42P17') throw error
  })
  await sql(
    `insert into journal (tenant_id, action, resource_type, created_at)
     select $1, $2, 'user', $3::timestamptz + (n / 3) * interval '1 millisecond'
     from generate_series(0, $4::int - 1) n`,
    [at.clinic.id, action, time, count],
  )
}

describe('a replay', () => {
  test('queues the subscribed events after a certain time, even those from before the webhook existed', async () => {
    const { id } = await at.register({ events: ['user.*', 'department.created'] })
    const since = ago(HOUR)
    const answer = await order(id, since)
    const begun = { webhook_id: id, since, state: 'running', found: 0, finished_at: null }
    expect(answer).toMatchObject({ status: 202, body: begun })
    expect(await shown(id, answer.body.id)).toEqual(answer.body)
    expect(Math.abs(Date.parse(answer.body.until) - at.service.clock.now())).toBeLessThan(HOUR)
    await work()
    const events = await journaled('user.created', 'department.created')
    expect(events).toHaveLength(6)
    const deliveries = await deliveriesOf(id)
    expect(deliveries.map(({ entry_id }) => entry_id)).toEqual(events.map((event) => event.id))
    for (const delivery of deliveries)
      expect(delivery).toMatchObject({ status: 'pending', attempts: 0, retry_step: 0 })
    const [queue] = await at.service.database.sql(
      'select due_at from webhook_queues where webhook_id = $1',
      [id],
    )
    expect(queue?.due_at).toBe(deliveries[0]?.due_at)
    expect(await shown(id, answer.body.id)).toMatchObject({
      state: 'completed',
      found: 6,
      waiting: 6,
      delivered: 0,
      finished_at: expect.any(String),
    })
  })

  test('is journaled', async () => {
    const { id } = await at.register()
    const { body } = await order(id, ago(HOUR))
    const { since, until } = body
    expect((await at.entriesOf(id)).at(-1)).toMatchObject({
      action: 'webhook.replayed',
      changes: { replay_id: body.id, since, until },
    })
    await work()
  })

  test('contains no webhook tests, no events of other tenants and no private events', async () => {
    const { id } = await at.register()
    await at.call('POST', `/${id}/test`)
    await order(id, ago(HOUR))
    await work()
    const events = (await deliveriesOf(id)).map(({ event }) => event)
    expect(new Set(events)).toEqual(
      new Set([
        'tenant.created',
        'department.created',
        'user.created',
        'auth.verification_sent',
        'auth.login',
        'webhook.test',
      ]),
    )
    // The event of a webhook test is not replayed. It was sent only once, when the test was requested.
    expect(events.filter((event) => event === 'webhook.test')).toHaveLength(1)
    const foreign = await at.service.database.sql(
      `select 1 from webhook_deliveries d join journal j on j.id = d.entry_id
       where d.webhook_id = $1 and j.tenant_id <> d.tenant_id`,
      [id],
    )
    expect(foreign).toEqual([])
  })

  test('queues deliveries again that are finished or wait for a later attempt', async () => {
    const { id } = await at.register({ events: ['user.created'] })
    await order(id, ago(HOUR))
    await work()
    const [first, second, third] = (await deliveriesOf(id)).map(({ entry_id }) => entry_id)
    const { sql } = at.service.database
    const settle = (status: string, entry: number) =>
      sql(
        `update webhook_deliveries set status = $1, attempts = 3, retry_step = 3, due_at = null,
           finished_at = now() where webhook_id = $2 and entry_id = $3`,
        [status, id, entry],
      )
    await settle('delivered', first)
    await settle('failed', second)
    await sql(
      `update webhook_deliveries set attempts = 2, retry_step = 2, due_at = '2099-01-01'
       where webhook_id = $1 and entry_id = $2`,
      [id, third],
    )
    await order(id, ago(HOUR))
    await work()
    expect(await deliveriesOf(id)).toMatchObject([
      { entry_id: first, status: 'pending', attempts: 3, retry_step: 0 },
      { entry_id: second, status: 'pending', attempts: 3, retry_step: 0 },
      {
        entry_id: third,
        status: 'pending',
        attempts: 2,
        retry_step: 0,
        due_at: expect.not.stringMatching(/^2099/),
      },
      { status: 'pending' },
      { status: 'pending' },
    ])
  })

  test('is paused while its webhook is inactive', async () => {
    const { id } = await at.register({ events: ['user.created'] })
    await at.call('PUT', `/${id}`, { body: { is_active: false } })
    await order(id, ago(HOUR))
    await work()
    const { body } = await at.call('GET', `/${id}/deliveries`, { query: { status: 'held' } })
    expect(body.total).toBe(5)
  })

  test('uses the subscriptions of the webhook at the time the replay runs', async () => {
    const { id } = await at.register({ events: ['*'] })
    await order(id, ago(HOUR))
    await at.call('PUT', `/${id}`, { body: { events: ['department.*'] } })
    await work()
    expect((await deliveriesOf(id)).map(({ event }) => event)).toEqual(['department.created'])
  })

  test('does nothing if its webhook has been deleted', async () => {
    const { id } = await at.register()
    await order(id, ago(HOUR))
    await at.call('DELETE', `/${id}`)
    await work()
    expect(await deliveriesOf(id)).toEqual([])
  })
})

describe('the parameter `since` of a replay', () => {
  test('can be a date, which means the beginning of that day, or a time, which is included', async () => {
    const { id } = await at.register({ events: ['user.blocked', 'user.unblocked', 'user.deleted'] })
    const day = ago(3 * DAY).slice(0, 10)
    await past(`${iso(Date.parse(day) - 1)}`, 1, 'user.blocked')
    await past(`${day}T00:00:00.000Z`, 1, 'user.unblocked')
    await past(`${day}T09:00:00.500Z`, 1, 'user.deleted')
    const eventsSince = async (since: string) => {
      const { body } = await order(id, since)
      await work()
      const events = (await deliveriesOf(id)).map(({ event }) => event)
      await at.service.database.sql('delete from webhook_deliveries where webhook_id = $1', [id])
      return [body.since, events]
    }
    expect(await eventsSince(day)).toEqual([
      `${day}T00:00:00.000Z`,
      ['user.unblocked', 'user.deleted'],
    ])
    expect(await eventsSince(`${day}T11:00:00.5+02:00`)).toEqual([
      `${day}T09:00:00.500Z`,
      ['user.deleted'],
    ])
    expect(await eventsSince(`${day} 09:00:00.501`)).toEqual([`${day}T09:00:00.501Z`, []])
  })
})

describe('the parameter `until` of a replay', () => {
  test('can be a date, which means the end of that day, or a time, which is included, and is never in the future', async () => {
    const { id } = await at.register({
      events: ['department.created', 'department.updated', 'department.deleted'],
    })
    const day = ago(5 * DAY).slice(0, 10)
    const next = iso(Date.parse(day) + DAY).slice(0, 10)
    await past(`${day}T09:00:00.500Z`, 1, 'department.updated')
    await past(`${day}T23:59:59.999Z`, 1, 'department.deleted')
    await past(`${next}T00:00:00.000Z`, 1, 'department.created')
    const eventsUntil = async (until: string) => {
      const { status, body } = await order(id, day, until)
      await work()
      const events = (await deliveriesOf(id)).map(({ event }) => event)
      await at.service.database.sql('delete from webhook_deliveries where webhook_id = $1', [id])
      return [status, body.until, events]
    }
    expect(await eventsUntil(day)).toEqual([
      202,
      `${day}T23:59:59.999Z`,
      ['department.updated', 'department.deleted'],
    ])
    expect(await eventsUntil(`${day}T11:00:00.5+02:00`)).toEqual([
      202,
      `${day}T09:00:00.500Z`,
      ['department.updated'],
    ])
    expect(await eventsUntil(`${day} 09:00:00.499`)).toEqual([202, `${day}T09:00:00.499Z`, []])
    const [status, end, events] = await eventsUntil('2999-12-31')
    expect([status, events]).toEqual([202, expect.arrayContaining(['department.created'])])
    expect(Date.parse(end)).toBeLessThanOrEqual(at.service.clock.now())
  })

  test('cannot be before `since`', async () => {
    const { id } = await at.register()
    const since = ago(2 * DAY)
    const day = iso(Date.parse(since) - DAY).slice(0, 10)
    for (const until of [iso(Date.parse(since) - 1), day]) {
      const answer = await order(id, since, until)
      expect([until, answer.status]).toEqual([until, 422])
      expect(answer.body.detail).toMatchObject([{ loc: ['body', 'until'], type: 'value_error' }])
    }
    expect((await order(id, since, since)).status).toBe(202)
    await work()
  })
})

describe('a long replay', () => {
  const COUNT = 4321

  beforeAll(async () => {
    await past(ago(2 * DAY), COUNT)
    await past(ago(2 * DAY), 50, 'preferences.updated')
  })

  /** Calls `act` after this many batches are queued, before the next batch. */
  function afterBatches(db: Scopes, batches: number, act: () => Promise<void> | void): Scopes {
    let calls = 0
    const inTenant: Scopes['inTenant'] = async (...args) => {
      const result = await db.inTenant(...args)
      // Skips the first call, which only reads the replay.
      if (calls++ === batches) await act()
      return result
    }
    return { ...db, inTenant }
  }

  test('queues each event once', async () => {
    const { id } = await at.register({ events: ['user.updated'] })
    await order(id, ago(2 * DAY + HOUR))
    await work()
    expect(await deliveriesOf(id)).toHaveLength(COUNT)
  })

  test('continues at its position after a shutdown', async () => {
    const { id } = await at.register({ events: ['user.updated'] })
    await order(id, ago(2 * DAY + HOUR))
    const stop = new AbortController()
    const db = afterBatches(at.service.app.db, 2, () => stop.abort())
    await expect(work({ db, halt: stop.signal })).rejects.toThrow('aborted')
    const part = (await deliveriesOf(id)).length
    expect(part).toBeGreaterThan(0)
    expect(part).toBeLessThan(COUNT)
    // Completed batches are not repeated.
    await at.service.database.sql(
      "update webhook_deliveries set status = 'delivered', due_at = null where webhook_id = $1",
      [id],
    )
    await work()
    const deliveries = await deliveriesOf(id)
    expect(deliveries).toHaveLength(COUNT)
    expect(deliveries.filter(({ status }) => status === 'delivered')).toHaveLength(part)
  })

  test('is completed by another process if the first one stops halfway', async () => {
    const { database, clock } = at.service
    await database.sql("delete from pgboss.job where name = 'webhooks.replay'")
    const { id } = await at.register({ events: ['user.updated'] })
    await order(id, ago(2 * DAY + HOUR))
    const node = (watch = (db: Scopes) => db) => {
      const { jobs, db, stop } = openNode(database)
      replaysService({ db: watch(db), clock, jobs, keepDays: 30 })
      return { start: jobs.start, stop }
    }
    const middle = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const first = node((db) =>
      afterBatches(db, 2, () => {
        middle.resolve()
        return gate.promise
      }),
    )
    await first.start()
    await middle.promise
    const stopped = first.stop()
    gate.resolve()
    await stopped
    const part = (await deliveriesOf(id)).length
    expect(part).toBeGreaterThan(0)
    expect(part).toBeLessThan(COUNT)
    // The job was returned to the queue. This does not count as a failure.
    expect(await rowsOf(database, 'webhooks.replay')).toMatchObject([{ retry_count: 0 }])
    await node().start()
    const isWhole = async () => (await deliveriesOf(id)).length === COUNT || undefined
    await until('all of it is queued', isWhole)
  })

  test('is done only once by several concurrent workers', async () => {
    const { id } = await at.register({ events: ['user.updated'] })
    const { body } = await order(id, ago(2 * DAY + HOUR))
    await Promise.all([work(), work(), work()])
    expect(await deliveriesOf(id)).toHaveLength(COUNT)
    expect(await shown(id, body.id)).toMatchObject({ state: 'completed', found: COUNT })
  })
})

// Runs last in this file, because it stops the clock.
describe('the limits of the parameter `since`', () => {
  test('allow a start within the retention period, and no time in the future', async () => {
    const { id } = await at.register({ events: ['tenant.restored'] })
    // Stops the clock, because the earliest day changes at midnight.
    at.service.clock.stop()
    const earliest = ago(30 * DAY).slice(0, 10)
    expect(await order(id, earliest)).toMatchObject({
      status: 202,
      body: { since: `${earliest}T00:00:00.000Z` },
    })
    await work()
    for (const since of [iso(Date.parse(earliest) - 1), ago(-HOUR), '2001-01-01', '2999-12-31']) {
      const answer = await order(id, since)
      expect([since, answer.status]).toEqual([since, 422])
      expect(answer.body.detail).toMatchObject([{ loc: ['body', 'since'], type: 'value_error' }])
    }
    for (const since of ['', 'yesterday', '2026-02-30', 5, null]) {
      const answer = await at.call('POST', `/${id}/replay`, { body: { since } })
      expect([since, answer.status]).toEqual([since, 422])
    }
    expect((await order(999_999, ago(HOUR))).status).toBe(404)
  })
})
