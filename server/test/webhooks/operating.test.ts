/** How an administrator finds out why a webhook fails: its state, the filters of its deliveries, and replays of failures. */
import { beforeAll, describe, expect, test } from 'vitest'
import { runReplay } from '../../src/features/webhooks/replays/replays.service.ts'
import { DAY, MINUTE } from '../../src/lib/clock.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic
let receiver: Receiver

beforeAll(async () => {
  receiver = await openReceiver()
  at = await openClinic()
})

const minutesAgo = (minutes: number) =>
  new Date(at.service.clock.now() - minutes * MINUTE).toISOString()

/** A delivery with the class of its last response as stored. */
type Row = [id: number, event: string, status: string, statusClass: number | null, minutes: number]

async function webhookWith(rows: Row[]): Promise<number> {
  const { sql } = at.service.database
  const { id } = await at.register({ url: receiver.url })
  const own = [at.clinic.id, id]
  // Shortly after midnight, the rows belong to yesterday.
  await sql(
    `select ensure_webhook_partitions((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date)`,
  )
  for (const [entry, event, status, statusClass, minutes] of rows) {
    const time = minutesAgo(minutes)
    const due = status === 'pending' ? '2099-01-01' : null
    await sql(
      `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, status,
         attempts, due_at, finished_at, status_class)
       values ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9)`,
      [...own, entry, time, event, status, due, due ? null : minutesAgo(0), statusClass],
    )
    await sql(
      `insert into webhook_attempts (tenant_id, webhook_id, entry_id, event_at, number, started_at,
         duration_ms, status_code, error, detail)
       values ($1, $2, $3, $4::timestamptz, 1, $4::timestamptz, 5, $5, $6, $7)`,
      [
        ...own,
        entry,
        time,
        statusClass === null ? 200 : statusClass === 0 ? null : statusClass * 100 + 3,
        statusClass === null ? null : statusClass === 0 ? 'timeout' : 'status',
        `class ${statusClass}`,
      ],
    )
  }
  return id
}

const ROWS: Row[] = [
  [901, 'user.created', 'delivered', null, 50],
  [902, 'user.blocked', 'failed', 5, 40],
  [903, 'user.created', 'failed', 4, 30],
  [904, 'user.created', 'pending', 0, 20],
  [905, 'webhook.test', 'failed', 5, 10],
]

const idsOf = async (id: number, query: Record<string, string>) => {
  const { status, body } = await at.call('GET', `/${id}/deliveries`, { query })
  expect(status).toBe(200)
  expect(body.total).toBe(body.items.length)
  return body.items.map((item: { id: number }) => item.id)
}

describe('the filters of the deliveries', () => {
  test('select by event, class of response and period, also together with a status', async () => {
    const id = await webhookWith(ROWS)
    expect(await idsOf(id, { event: 'user.created' })).toEqual([904, 903, 901])
    expect(await idsOf(id, { status_class: '2xx' })).toEqual([901])
    expect(await idsOf(id, { status_class: '4xx' })).toEqual([903])
    expect(await idsOf(id, { status_class: '5xx' })).toEqual([905, 902])
    expect(await idsOf(id, { status_class: 'none' })).toEqual([904])
    expect(await idsOf(id, { status_class: '3xx' })).toEqual([])
    expect(await idsOf(id, { status_class: '2xx', status: 'failed' })).toEqual([])
    expect(await idsOf(id, { from_date: minutesAgo(35), to_date: minutesAgo(15) })).toEqual([
      904, 903,
    ])
    expect(await idsOf(id, { status: 'failed', event: 'user.created' })).toEqual([903])
  })

  test('leave out deliveries that succeeded after a failure on a node of an earlier release', async () => {
    const id = await webhookWith([[901, 'user.created', 'delivered', 5, 50]])
    expect(await idsOf(id, { status_class: '5xx' })).toEqual([])
    expect(await idsOf(id, { status_class: '2xx' })).toEqual([901])
    expect((await at.call('GET', `/${id}`)).body.last_failure).toBeNull()
  })

  test('name the class of a response that a test received', async () => {
    receiver.answerWith(() => ({ status: 503 }))
    const { id } = await at.register({ url: receiver.url })
    await at.call('POST', `/${id}/test`)
    expect(await idsOf(id, { status_class: '5xx' })).toHaveLength(1)
    receiver.answerWith(() => ({ status: 200 }))
    await at.call('POST', `/${id}/test`)
    expect(await idsOf(id, { status_class: '2xx' })).toHaveLength(1)
  })
})

describe('one webhook', () => {
  test('shows its latest failure, its waiting deliveries, and until when the previous secret signs', async () => {
    const id = await webhookWith(ROWS.slice(0, 4))
    expect((await at.call('GET', `/${id}`)).body).toMatchObject({
      id,
      url: receiver.url,
      waiting: 1,
      last_failure: { error: 'timeout', status_code: null, detail: 'class 0' },
      previous_secret_until: null,
    })
    await at.call('PUT', `/${id}`, { body: { secret: 'a-secret-of-the-receiver' } })
    const { body } = await at.call('GET', `/${id}`)
    expect(Date.parse(body.previous_secret_until) - at.service.clock.now()).toBeLessThanOrEqual(DAY)
    expect(JSON.stringify(body)).not.toContain('a-secret-of-the-receiver')
  })

  test('has no failure while everything was delivered', async () => {
    const id = await webhookWith(ROWS.slice(0, 1))
    expect((await at.call('GET', `/${id}`)).body).toMatchObject({ waiting: 0, last_failure: null })
  })
})

describe('the figures of webhooks', () => {
  test("count the deliveries of the journal's entries by hour for each webhook, with zeros and without tests", async () => {
    const { sql } = at.service.database
    const { id } = await at.register()
    const other = await at.register()
    // Events with an entry in the journal, as the fan-out creates them.
    await sql(
      `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, status, finished_at)
       select tenant_id, $2, id, created_at, 'user.created', case when row_number() over (order by id) = 1
         then 'failed' else 'delivered' end, now()
       from (select * from journal where tenant_id = $1 and not is_access order by id desc limit 3) j`,
      [at.clinic.id, id],
    )
    expect((await at.call('POST', `/${id}/test`)).body.delivered).toBe(false)
    const { body } = await at.call('GET', '/stats')
    const mine = body.find(({ webhook_id }: any) => webhook_id === id)
    expect(mine).toMatchObject({ delivered: 2, failed: 1, is_estimate: false })
    expect(mine.hourly.delivered).toHaveLength(24)
    expect(mine.hourly.delivered.reduce((a: number, b: number) => a + b)).toBe(2)
    expect(body.find(({ webhook_id }: any) => webhook_id === other.id)).toMatchObject({
      delivered: 0,
      hourly: { failed: Array(24).fill(0) },
    })
    const { webhook_id: _, ...stats } = mine
    expect((await at.call('GET', `/${id}`)).body.stats).toEqual(stats)
  })
})

test('a delivery shows the request exactly as the receiver got it, without its signature', async () => {
  const { id } = await at.register({ url: receiver.url })
  const sent = (await at.call('POST', `/${id}/test`)).body
  const [delivery] = (await at.call('GET', `/${id}/deliveries`)).body.items
  const { body } = await at.call('GET', `/${id}/deliveries/${delivery.id}`)
  const got = receiver.received.at(-1)
  expect(body.request_body).toBe(got?.body)
  expect(body.request_headers).toEqual({
    'content-type': 'application/json',
    'webhook-id': sent.message_id,
  })
  for (const [name, value] of Object.entries(body.request_headers))
    expect(got?.headers[name]).toBe(value)
  expect(Math.floor(Date.parse(body.attempts[0].started_at) / 1000)).toBe(
    Number(got?.headers['webhook-timestamp']),
  )
  expect((await at.call('GET', `/${id}/deliveries/1`)).status).toBe(404)
})

describe('a replay of failed deliveries', () => {
  test('is counted first, and then queues only the failures of its period again', async () => {
    const id = await webhookWith(ROWS)
    const span = { since: minutesAgo(45), only_failed: true }
    const preview = await at.call('GET', `/${id}/replay`, { query: span as never })
    expect(preview.body).toMatchObject({ count: 2, is_minimum: false })
    const replay = (await at.call('POST', `/${id}/replay`, { body: span })).body
    expect(replay).toMatchObject({ only_failed: true, state: 'running' })
    // Nodes of earlier releases read the entries from `event_at` to the end of the period.
    const readByEarlierNodes = () =>
      at.service.database.sql(
        'select id from webhook_replays where id = $1 and event_at <= until',
        [replay.id],
      )
    expect(await readByEarlierNodes()).toEqual([])
    const { clock } = at.service
    const { db } = at.service.app
    await runReplay(
      { db, clock },
      { id: replay.id, tenant_id: at.clinic.id },
      new AbortController().signal,
    )
    // The test is not sent again, and the delivered message is left alone.
    expect(await idsOf(id, { status: 'pending' })).toEqual([904, 903, 902])
    expect((await at.call('GET', `/${id}/replays`)).body).toMatchObject([
      { id: replay.id, state: 'completed', found: 2, waiting: 2 },
    ])
    expect(await readByEarlierNodes()).toEqual([])
    expect((await at.entriesOf(id)).at(-1)?.changes).toMatchObject({ only_failed: true })
  })

  test('leaves failures outside of its period as they are', async () => {
    const id = await webhookWith(ROWS)
    const span = { since: minutesAgo(35), until: minutesAgo(25), only_failed: true }
    expect((await at.call('GET', `/${id}/replay`, { query: span as never })).body.count).toBe(1)
  })
})

test('a preview of a replay counts the events that the webhook subscribes to', async () => {
  const { id } = await at.register({ events: ['department.created'] })
  const since = minutesAgo(60)
  const count = async () => (await at.call('GET', `/${id}/replay`, { query: { since } })).body.count
  const before = await count()
  const { token } = at.clinic.people.admin
  await at.service.call('POST', '/api/admin/departments', { token, body: { name: 'Counted' } })
  expect(await count()).toBe(before + 1)
  expect((await at.call('GET', `/${id}/replays`)).body).toEqual([])
})
