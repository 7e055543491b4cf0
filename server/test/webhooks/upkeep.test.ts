/** What is over is thrown away: old days, deleted webhooks. What is waited for is not. */
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
import { OF_THIS_DATABASE } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { until } from '../support/until.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic
const KEPT = 30
const { signal } = new AbortController()

beforeAll(async () => {
  at = await openClinic()
})

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

/** Puts a delivery of a day into the table. */
async function deliveryOf(day: string, webhookId: number, status: string): Promise<void> {
  await at.service.database.sql(
    `insert into webhook_deliveries
       (tenant_id, webhook_id, entry_id, event_at, event, status, due_at)
     values ($1, $2, 1, $3::date, 'user.created', $4, case $4 when 'pending' then now() end)`,
    [at.clinic.id, webhookId, day, status],
  )
}

describe('the days ahead', () => {
  test('are there from the start, today and two more', async () => {
    expect(await daysOf()).toEqual([0, -1, -2].map(dayAgo))
    expect(await ensureWebhookDays(at.service.app.db)).toBe(0)
  })

  test('are made where one is missing, once by many nodes together', async () => {
    const days = await daysOf()
    for (const day of days.slice(1))
      await at.service.database.sql('select drop_webhook_partition($1)', [day])
    const made = await Promise.all(
      Array.from({ length: 8 }, () => ensureWebhookDays(at.service.app.db)),
    )
    expect(made.reduce((sum, count) => sum + count)).toBe(4)
    expect(await daysOf()).toEqual(days)
  })

  test('and those since a day of the past, where asked for', async () => {
    await ensureWebhookDays(at.service.app.db, `${dayAgo(3)}T23:59:59.999Z`)
    expect(await daysOf()).toEqual([3, 2, 1, 0, -1, -2].map(dayAgo))
  })
})

describe('a day', () => {
  test('older than deliveries are kept is dropped, with its attempts', async () => {
    for (const days of [400, 32, 31, 30, 29]) await makeDay(dayAgo(days))
    await drop()
    const days = await daysOf()
    expect(days.slice(0, 2)).toEqual([dayAgo(30), dayAgo(29)])
    expect(await partsOf('webhook_attempts')).toEqual(days)
    expect(await partsOf('webhook_deliveries')).toEqual(days)
  })

  test('with a delivery that an active webhook waits for is kept until it is settled', async () => {
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

  test('is dropped with what is held for an inactive webhook', async () => {
    const { id } = await at.register()
    await at.call('PUT', `/${id}`, { body: { is_active: false } })
    const day = dayAgo(51)
    await makeDay(day)
    await deliveryOf(day, id, 'pending')
    await drop()
    expect(await daysOf()).not.toContain(day)
  })

  test('is dropped with what waits for a deleted clinic, once that is served no more', async () => {
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

  test('is kept when one of its deliveries is queued again just then', async () => {
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

  test('that others are at work on stays for the next night, and keeps none of the others', async () => {
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
    expect(said).toEqual([`dropping the deliveries of ${day} failed`])
    expect(await daysOf()).toContain(day)
    end.open()
    await working
    await drop()
    expect(await daysOf()).not.toContain(day)
  })
})

describe('a deleted webhook', () => {
  test('is swept: its deliveries and attempts go, in batches, and no others', async () => {
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
