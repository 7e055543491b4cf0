/** The upkeep of webhooks deletes expired days and deleted webhooks. It keeps pending deliveries. */
import { beforeAll, describe, expect, test } from 'vitest'
import {
  lockDelivery,
  queueAgain,
} from '../../src/features/webhooks/deliveries/deliveries.store.ts'
import { ensureWebhookDays } from '../../src/features/webhooks/upkeep/days.ts'
import { dropOldDays } from '../../src/features/webhooks/webhooks.jobs.ts'
import { DAY } from '../../src/lib/clock.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { gate } from '../sessions/scopes.ts'
import { migratedDatabase, OF_THIS_DATABASE, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { until } from '../support/until.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic
const KEPT = 30
const { signal } = new AbortController()

/** The dates before and after the start of the service. They differ if it starts at midnight. */
let startedOn: string[]

beforeAll(async () => {
  const database = await migratedDatabase()
  const before = await todayOf(database)
  at = await openClinic({ database })
  startedOn = [before, await todayOf(database)]
  // Stops the clock, so that a day has the same age in the test and in the service from here on.
  at.service.clock.stop()
})

/** Returns today's date by the database's clock (UTC), which determines the partitions. */
async function todayOf(database: TestDatabase): Promise<string> {
  const [row] = await database.sql<{ day: string }>(
    `select (now() at time zone 'UTC')::date::text as day`,
  )
  return row?.day as string
}
const today = () => todayOf(at.service.database)
/** Returns the days from the first one to two days after the last one. */
const daysFrom = (first: string, last = first) => {
  const count = (Date.parse(last) - Date.parse(first)) / DAY + 3
  return Array.from({ length: count }, (_, n) =>
    new Date(Date.parse(first) + n * DAY).toISOString().slice(0, 10),
  )
}

const daysOf = async () =>
  (
    await at.service.database.sql<{ day: string }>(
      'select day::text from webhook_partition_days() as day',
    )
  ).map(({ day }) => day)
const partsOf = async (table: string) =>
  (
    await at.service.database.sql<{ day: string }>(
      `select replace(right(inhrelid::regclass::text, 10), '_', '-') as day
       from pg_inherits where inhparent = $1::regclass order by 1`,
      [table],
    )
  ).map(({ day }) => day)
const dayAgo = (days: number) =>
  new Date(at.service.clock.now() - days * DAY).toISOString().slice(0, 10)
const makeDay = (day: string) =>
  at.service.database.sql('select ensure_webhook_partitions($1::date, $1::date)', [day])
const drop = (log = silentLog) =>
  dropOldDays({ db: at.service.app.db, clock: at.service.clock, keepDays: KEPT, log }, signal)

/** Inserts a delivery into the partition of a day. */
async function deliveryOf(day: string, webhookId: number, status: string): Promise<void> {
  await at.service.database.sql(
    `insert into webhook_deliveries
       (tenant_id, webhook_id, entry_id, event_at, event, status, due_at)
     values ($1, $2, 1, $3::date, 'user.created', $4, case $4 when 'pending' then now() end)`,
    [at.clinic.id, webhookId, day, status],
  )
}

describe('the partitions for webhook deliveries', () => {
  test('exist from the start, for today and two more days', async () => {
    const days = await daysOf()
    // The template database may have been migrated on the previous day.
    expect(startedOn.map((day) => daysFrom(day))).toContainEqual(days.slice(-3))
    const made = await ensureWebhookDays(at.service.app.db)
    expect(made).toBe(2 * ((await daysOf()).length - days.length))
  })

  test('are created if one is missing, only once by many nodes at the same time', async () => {
    const [first, ...others] = await daysOf()
    for (const day of others)
      await at.service.database.sql('select drop_webhook_partition($1)', [day])
    const made = await Promise.all(
      Array.from({ length: 8 }, () => ensureWebhookDays(at.service.app.db)),
    )
    const days = await daysOf()
    expect(made.reduce((sum, count) => sum + count)).toBe(2 * (days.length - 1))
    expect(days).toEqual(expect.arrayContaining([first, ...others.slice(-2)]))
  })

  test('are created for past days when that is requested', async () => {
    const first = dayAgo(3)
    const before = await today()
    await ensureWebhookDays(at.service.app.db, `${first}T23:59:59.999Z`)
    const after = await today()
    expect([before, after].map((last) => daysFrom(first, last))).toContainEqual(await daysOf())
  })
})

describe('the partition of a past day of deliveries', () => {
  test('is dropped with its attempts once it is older than the retention of deliveries', async () => {
    for (const days of [400, 32, 31, 30, 29]) await makeDay(dayAgo(days))
    await drop()
    const days = await daysOf()
    expect(days.slice(0, 2)).toEqual([dayAgo(30), dayAgo(29)])
    expect(await partsOf('webhook_attempts')).toEqual(days)
    expect(await partsOf('webhook_deliveries')).toEqual(days)
  })

  test('is kept until no delivery of an active webhook is pending', async () => {
    const { id } = await at.register()
    const day = dayAgo(50)
    await makeDay(day)
    await deliveryOf(day, id, 'pending')
    await drop()
    expect(await daysOf()).toContain(day)
    await at.service.database.sql(
      "update webhook_deliveries set status = 'failed', due_at = null where webhook_id = $1",
      [id],
    )
    await drop()
    expect(await daysOf()).not.toContain(day)
  })

  test('is dropped with the held deliveries of an inactive webhook', async () => {
    const { id } = await at.register()
    await at.call('PUT', `/${id}`, { body: { is_active: false } })
    const day = dayAgo(51)
    await makeDay(day)
    await deliveryOf(day, id, 'pending')
    await drop()
    expect(await daysOf()).not.toContain(day)
  })

  test('is dropped with the pending deliveries of a clinic that was deleted over an hour ago', async () => {
    const { id } = await at.register()
    const day = dayAgo(54)
    await makeDay(day)
    await deliveryOf(day, id, 'pending')
    const deletedAgo = (age: string | null) =>
      at.service.database.sql(
        'update tenants set deleted_at = now() - $1::interval where id = $2',
        [age, at.clinic.id],
      )
    await deletedAgo('59 minutes')
    await drop()
    expect(await daysOf()).toContain(day)
    await deletedAgo('61 minutes')
    await drop()
    expect(await daysOf()).not.toContain(day)
    await deletedAgo(null)
  })

  test('is kept if one of its deliveries is queued again at that moment', async () => {
    const { id } = await at.register()
    const day = dayAgo(52)
    await makeDay(day)
    await deliveryOf(day, id, 'failed')
    const [queued, end] = [gate(), gate()]
    const retry = at.service.app.db.inTenant(at.clinic.id, async (tx) => {
      const delivery = { id: 1, webhook_id: id, created_at: `${day}T00:00:00.000Z` }
      await queueAgain(tx, delivery, new Date().toISOString())
      queued.open()
      await end.pass
    })
    await queued.pass
    const dropped = drop()
    await until('the drop waits for it', async () => {
      const waiting = await at.service.database.sql(
        `select 1 from pg_locks where mode = 'AccessExclusiveLock' and not granted and ${OF_THIS_DATABASE}`,
      )
      return waiting.length > 0 || undefined
    })
    end.open()
    await Promise.all([retry, dropped])
    expect(await daysOf()).toContain(day)
    expect(
      await at.service.database.sql('select status from webhook_deliveries where webhook_id = $1', [
        id,
      ]),
    ).toEqual([{ status: 'pending' }])
  })

  test('is left for the next night if it is in use, and no other partition is delayed', async () => {
    const [busy, end] = [gate(), gate()]
    const day = dayAgo(53)
    await makeDay(day)
    const working = at.service.app.db.inTenant(at.clinic.id, async (tx) => {
      await lockDelivery(tx, 1, 1)
      busy.open()
      await end.pass
    })
    await busy.pass
    const said: string[] = []
    const warn = (_fields: object, message: string) => void said.push(message)
    await drop({ ...silentLog, warn } as Logger)
    expect(said).toEqual([`deletion of the deliveries of ${day} failed`])
    expect(await daysOf()).toContain(day)
    end.open()
    await working
    await drop()
    expect(await daysOf()).not.toContain(day)
  })
})

describe('a deleted webhook', () => {
  test('is deleted in batches with its deliveries and attempts, and no other rows', async () => {
    const node = await openClinic({ role: 'all' })
    const { sql } = node.service.database
    const fill = async () => {
      const { id } = await node.register({ events: ['tenant.restored'] })
      await sql(
        `insert into webhook_deliveries
           (tenant_id, webhook_id, entry_id, event_at, event, status)
         select $1, $2, n, now() + (n % 2) * interval '1 day', 'user.created', 'delivered'
         from generate_series(1, 2300) n`,
        [node.clinic.id, id],
      )
      await sql(
        `insert into webhook_attempts
           (tenant_id, webhook_id, entry_id, event_at, number, started_at, duration_ms)
         select tenant_id, webhook_id, entry_id, event_at, n, now(), 5
         from webhook_deliveries, generate_series(1, 2) n where webhook_id = $1`,
        [id],
      )
      return id
    }
    const countOf = async (id: number) => {
      const [row] = await sql<{ deliveries: number; attempts: number }>(
        `select (select count(*) from webhook_deliveries where webhook_id = $1) as deliveries,
           (select count(*) from webhook_attempts where webhook_id = $1) as attempts`,
        [id],
      )
      return row
    }
    const [gone, kept] = [await fill(), await fill()]
    await node.call('DELETE', `/${gone}`)
    await until('it is swept', async () => {
      const left = await countOf(gone)
      return left?.deliveries === 0 && left.attempts === 0 ? true : undefined
    })
    expect(await countOf(kept)).toEqual({ deliveries: 2300, attempts: 4600 })
    expect(
      await sql("select cron from pgboss.schedule where name = 'webhooks.maintain'"),
    ).toHaveLength(1)
  })
})
