/** The deliveries of a webhook: listing and retrying them. */
import { beforeAll, describe, expect, test } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic

beforeAll(async () => {
  at = await openClinic()
  // Uses days without events, so that there are gaps between the days with deliveries.
  await at.service.database.sql("select ensure_webhook_partitions('2026-01-01', '2026-01-05')")
})

interface Row {
  entry_id: number
  event_at?: string
  event?: string
  status?: 'pending' | 'delivered' | 'failed'
  attempts?: number
  retry_step?: number
}

/** Inserts deliveries of a new webhook. Attempt n has the response status 500 + n. */
async function webhookWith(rows: Row[], isActive = true): Promise<number> {
  const { sql } = at.service.database
  const { id } = await at.register()
  for (const row of rows) {
    const { entry_id, event = 'user.created', status = 'delivered' } = row
    const { event_at = '2026-01-02T10:00:00.000Z', attempts = 1, retry_step = attempts } = row
    const [due, finished] = status === 'pending' ? ['2099-01-01', null] : [null, '2026-01-03']
    await sql('insert into webhook_deliveries values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)', [
      at.clinic.id,
      id,
      entry_id,
      event_at,
      event,
      status,
      attempts,
      retry_step,
      due,
      finished,
    ])
    await sql(
      `insert into webhook_attempts
       select $1, $2, $3, $4::timestamptz, n, $4::timestamptz + n * interval '1 minute', n * 10,
         500 + n, 'status', 'answered ' || n, '192.0.2.7', 'body ' || n
       from generate_series($5::int, 1, -1) n`,
      [at.clinic.id, id, entry_id, event_at, attempts],
    )
  }
  if (!isActive) await at.call('PUT', `/${id}`, { body: { is_active: false } })
  return id
}

const list = (id: number, query: Record<string, string | number> = {}) =>
  at.call('GET', `/${id}/deliveries`, { query })
const idsOf = ({ body }: { body: { items: { id: number }[] } }) => body.items.map(({ id }) => id)

describe('the list of webhook deliveries', () => {
  test('contains a delivery with all its attempts in order', async () => {
    const id = await webhookWith([{ entry_id: 70, status: 'failed', attempts: 3 }])
    const attempt = (n: number) => ({
      number: n,
      started_at: `2026-01-02T10:0${n}:00.000Z`,
      duration_ms: n * 10,
      status_code: 500 + n,
      error: 'status',
      detail: `answered ${n}`,
      address: '192.0.2.7',
      response_body: `body ${n}`,
    })
    expect((await list(id)).body).toEqual({
      items: [
        {
          id: 70,
          webhook_id: id,
          message_id: `msg_${Date.parse('2026-01-02T10:00:00.000Z').toString(36)}_1y`,
          event: 'user.created',
          status: 'failed',
          attempts_count: 3,
          attempts: [attempt(1), attempt(2), attempt(3)],
          next_attempt_at: null,
          created_at: '2026-01-02T10:00:00.000Z',
          finished_at: '2026-01-03T00:00:00.000Z',
        },
      ],
      total: 1,
      page: 1,
      limit: 20,
      pages: 1,
      next: null,
    })
  })

  test('contains only the latest twenty of many attempts, with the total number', async () => {
    const many = { status: 'failed', attempts: 1000 } as const
    const id = await webhookWith([
      { entry_id: 70, ...many },
      { entry_id: 71, ...many, event_at: '2026-01-04T10:00:00.000Z' },
      { entry_id: 72, attempts: 2 },
    ])
    const latest = Array.from({ length: 20 }, (_, index) => 981 + index)
    const shown = (items: { attempts_count: number; attempts: { number: number }[] }[]) =>
      items.map((one) => [one.attempts_count, one.attempts.map(({ number }) => number)])
    expect(shown((await list(id)).body.items)).toEqual([
      [2, [1, 2]],
      [1000, latest],
      [1000, latest],
    ])
    const { body } = await at.call('POST', `/${id}/deliveries/70/retry`)
    expect(shown([body])).toEqual([[1000, latest]])
  })

  test('is sorted by time in either direction, across pages and days', async () => {
    const days = [1, 2, 3, 4, 5]
    const id = await webhookWith(
      days.flatMap((day) =>
        [10, 20].map((hour) => ({
          entry_id: day * 100 + hour,
          event_at: `2026-01-0${day}T${hour}:00:00.000Z`,
        })),
      ),
    )
    const ids = days.flatMap((day) => [day * 100 + 10, day * 100 + 20])
    expect(idsOf(await list(id))).toEqual(ids.toReversed())
    expect(idsOf(await list(id, { sort_order: 'asc' }))).toEqual(ids)
    const pages = []
    for (const page of [1, 2, 3, 4, 5]) pages.push(await list(id, { page, limit: 3 }))
    expect(pages.flatMap(idsOf)).toEqual(ids.toReversed())
    for (const page of pages.flatMap(({ body }) => body.items))
      expect(page.attempts).toHaveLength(1)
    expect(pages[0]?.body).toMatchObject({ total: 10, limit: 3, pages: 4 })
  })

  test('contains only the deliveries of one webhook', async () => {
    const one = await webhookWith([{ entry_id: 1 }])
    const other = await webhookWith([{ entry_id: 1 }, { entry_id: 2 }])
    expect([idsOf(await list(one)), idsOf(await list(other))]).toEqual([[1], [2, 1]])
  })

  const MIXED: Row[] = [
    { entry_id: 1, status: 'pending', attempts: 0 },
    { entry_id: 2, status: 'delivered', event: 'user.deleted' },
    { entry_id: 3, status: 'failed' },
    { entry_id: 4, status: 'pending', event: 'user.deleted' },
  ]

  test('can be filtered by status', async () => {
    const id = await webhookWith(MIXED)
    for (const [status, ids] of [
      ['pending', [4, 1]],
      ['held', []],
      ['delivered', [2]],
      ['failed', [3]],
    ] as const) {
      const answer = await list(id, { status })
      expect([status, idsOf(answer), answer.body.total]).toEqual([status, ids, ids.length])
    }
  })

  test('can be filtered by the message ID that the receiver got', async () => {
    const id = await webhookWith(MIXED)
    for (const { id: delivery, message_id } of (await list(id)).body.items) {
      const answer = await list(id, { message_id })
      expect([idsOf(answer), answer.body.total]).toEqual([[delivery], 1])
    }
    const [{ message_id }] = (await list(id)).body.items
    expect(idsOf(await list(id, { message_id, status: 'pending' }))).toEqual([4])
    expect(idsOf(await list(id, { message_id, status: 'failed' }))).toEqual([])
    expect(idsOf(await list(await webhookWith([]), { message_id }))).toEqual([])
    const zeros = message_id.replace('msg_', 'msg_0')
    for (const none of [
      'msg_mwq8lds0_4f2',
      'msg_zzzzzzzzzzzz_1',
      // The first moment of the year 10000, which the database and the service format differently.
      'msg_2htner8qo0_1',
      'msg_1_zzzzzzzzzzzz',
      zeros,
      'x',
      '',
    ])
      expect(await list(id, { message_id: none })).toMatchObject({
        status: 200,
        body: { total: 0 },
      })
  })

  test('shows pending deliveries of an inactive webhook as held', async () => {
    const id = await webhookWith(MIXED, false)
    expect((await list(id)).body.items.map(({ status }: { status: string }) => status)).toEqual([
      'held',
      'failed',
      'delivered',
      'held',
    ])
    expect(idsOf(await list(id, { status: 'held' }))).toEqual([4, 1])
    expect(idsOf(await list(id, { status: 'pending' }))).toEqual([])
    expect((await list(id)).body.items[0].next_attempt_at).toBeNull()
    await at.call('PUT', `/${id}`, { body: { is_active: true } })
    expect((await list(id)).body.items[0]).toMatchObject({
      status: 'pending',
      next_attempt_at: '2099-01-01T00:00:00.000Z',
    })
  })
})

describe('a manual retry', () => {
  const retry = (id: number, delivery: number) =>
    at.call('POST', `/${id}/deliveries/${delivery}/retry`)
  const rowOf = async (id: number) =>
    (
      await at.service.database.sql<Record<string, any>>(
        `select d.status, d.retry_step, d.attempts, d.due_at, d.finished_at, q.due_at as queue_due_at
         from webhook_deliveries d join webhook_queues q using (webhook_id) where webhook_id = $1`,
        [id],
      )
    )[0]

  test.each(['pending', 'delivered', 'failed'] as const)(
    'makes a delivery with the status "%s" due immediately, with a new retry schedule',
    async (status) => {
      const id = await webhookWith([{ entry_id: 9, status, attempts: 4 }])
      const answer = await retry(id, 9)
      expect(answer).toMatchObject({
        status: 200,
        body: { id: 9, status: 'pending', attempts_count: 4, finished_at: null },
      })
      expect(answer.body.attempts).toHaveLength(4)
      const now = at.service.clock.now()
      const due = Date.parse(answer.body.next_attempt_at)
      expect(Math.abs(due - now)).toBeLessThan(MINUTE)
      const { next_attempt_at } = answer.body
      expect(await rowOf(id)).toEqual({
        status: 'pending',
        retry_step: 0,
        attempts: 4,
        due_at: next_attempt_at,
        finished_at: null,
        queue_due_at: next_attempt_at,
      })
    },
  )

  test('is journaled', async () => {
    const id = await webhookWith([{ entry_id: 9, status: 'failed' }])
    await retry(id, 9)
    expect((await at.entriesOf(id)).at(-1)).toMatchObject({
      action: 'webhook.delivery_retried',
      changes: { delivery_id: 9, event: 'user.created', status: 'failed' },
    })
  })

  test('changes no other delivery', async () => {
    const id = await webhookWith([
      { entry_id: 9, status: 'failed' },
      { entry_id: 10, status: 'failed' },
    ])
    await retry(id, 9)
    expect(idsOf(await list(id, { status: 'failed' }))).toEqual([10])
  })

  test('is refused while the webhook is inactive', async () => {
    const id = await webhookWith([{ entry_id: 9, status: 'failed' }], false)
    expect(await retry(id, 9)).toMatchObject({ status: 409, body: { code: 'webhook_inactive' } })
    expect((await rowOf(id))?.status).toBe('failed')
  })

  test('gets 404 for an unknown delivery of an active or inactive webhook', async () => {
    const [active, inactive] = [await webhookWith([]), await webhookWith([], false)]
    const other = await webhookWith([{ entry_id: 9 }])
    expect((await retry(active, 9)).status).toBe(404)
    expect((await retry(inactive, 9)).status).toBe(404)
    expect((await retry(999_999, 9)).status).toBe(404)
    expect((await retry(other, 9)).status).toBe(200)
  })
})
