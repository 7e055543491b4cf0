/** Webhook tests. The service sends one message immediately and returns the receiver's response. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Answering, openReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic

beforeAll(async () => {
  at = await openClinic()
})

const tryOut = (id: number) => at.call('POST', `/${id}/test`)

/** Creates a webhook whose receiver sends this response. */
async function answering(answer?: Answering) {
  const receiver = await openReceiver({ clock: at.service.clock, ...(answer ? { answer } : {}) })
  return { receiver, ...(await at.register({ url: receiver.url })) }
}

describe('a webhook test', () => {
  test("sends a message with a valid signature, and returns the receiver's response", async () => {
    const { receiver, id, secret } = await answering(() => ({ status: 202, body: 'thank you' }))
    const { status, body } = await tryOut(id)
    expect(status).toBe(200)
    expect(body).toEqual({
      delivered: true,
      status_code: 202,
      duration_ms: expect.any(Number),
      error: null,
      detail: null,
      response_body: 'thank you',
      message_id: receiver.received[0]?.id,
    })
    const [entry] = (await at.entriesOf(id)).slice(-1)
    expect(entry?.action).toBe('webhook.test')
    expect(receiver.verifyWith(secret)).toEqual([
      {
        type: 'webhook.test',
        timestamp: expect.stringMatching(/Z$/),
        id: body.message_id,
        tenant_id: at.clinic.id,
        data: {
          entry_id: entry?.id,
          resource_type: 'webhook',
          resource_id: String(id),
          user_id: at.clinic.people.admin.id,
          changes: null,
        },
      },
    ])
    expect(receiver.received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^Wardkeep\/\d/),
    })
  })

  test('is in the list of deliveries, with its attempt', async () => {
    const { id } = await answering(() => ({ status: 200, body: 'ok' }))
    const { body: result } = await tryOut(id)
    const { body: page } = await at.call('GET', `/${id}/deliveries`)
    expect(page).toMatchObject({ total: 1, page: 1, pages: 1 })
    expect(page.items).toEqual([
      {
        id: expect.any(Number),
        webhook_id: id,
        message_id: result.message_id,
        event: 'webhook.test',
        status: 'delivered',
        attempts_count: 1,
        attempts: [
          {
            number: 1,
            started_at: expect.stringMatching(/Z$/),
            duration_ms: result.duration_ms,
            status_code: 200,
            error: null,
            detail: null,
            address: '127.0.0.1',
            response_body: 'ok',
          },
        ],
        next_attempt_at: null,
        created_at: expect.stringMatching(/Z$/),
        finished_at: expect.stringMatching(/Z$/),
      },
    ])
  })

  test.each<[string, Answering | null, object]>([
    [
      'refuses the message',
      () => ({ status: 500, body: 'no luck' }),
      {
        status_code: 500,
        response_body: 'no luck',
        error: 'status',
        detail: expect.stringContaining('500'),
      },
    ],
    [
      'redirects the message',
      () => ({ status: 307, headers: { location: 'http://127.0.0.1:9/' } }),
      { status_code: 307, error: 'status', detail: expect.stringContaining('Redirects') },
    ],
    [
      'is gone',
      () => ({ status: 410 }),
      { status_code: 410, error: 'status', detail: expect.stringContaining('410') },
    ],
    [
      'closes the connection',
      () => 'reset',
      { status_code: null, error: 'connection_lost', detail: expect.stringContaining('closed') },
    ],
    [
      'does not listen',
      null,
      { status_code: null, error: 'connection_refused', detail: 'connection refused' },
    ],
  ])('gets 200 with details if its receiver %s', async (_what, answer, expected) => {
    const { id } = answer ? await answering(answer) : await at.register()
    const { status, body } = await tryOut(id)
    expect(status).toBe(200)
    expect(body).toMatchObject({ delivered: false, ...expected })
    const { items } = (await at.call('GET', `/${id}/deliveries`)).body
    expect(items).toMatchObject([
      { status: 'failed', attempts_count: 1, attempts: [{ status_code: body.status_code }] },
    ])
    // The caller gets the result, and the failed test does not deactivate the webhook.
    const { body: webhooks } = await at.call('GET')
    expect(webhooks.find((one: { id: number }) => one.id === id).is_active).toBe(true)
  })

  test("stores the first KiB of the receiver's response", async () => {
    const { id } = await answering(() => ({ status: 200, body: 'x'.repeat(100_000) }))
    expect((await tryOut(id)).body).toMatchObject({
      delivered: true,
      response_body: 'x'.repeat(1024),
    })
  })

  test('is possible for an inactive webhook, which stays inactive', async () => {
    const { id } = await answering()
    await at.call('PUT', `/${id}`, { body: { is_active: false } })
    expect((await tryOut(id)).body.delivered).toBe(true)
    const { body } = await at.call('GET')
    expect(body.find((one: { id: number }) => one.id === id)).toMatchObject({
      is_active: false,
      disabled_reason: 'admin',
    })
  })

  test('ends normally if the webhook is deleted during the test, and is then in no list', async () => {
    const { id } = await answering(async () => {
      await at.call('DELETE', `/${id}`)
      return { status: 200 }
    })
    expect((await tryOut(id)).body.delivered).toBe(true)
    expect(
      await at.service.database.sql('select 1 from webhook_deliveries where webhook_id = $1', [id]),
    ).toEqual([])
  })
})

describe('a webhook test in progress', () => {
  const waiting: (() => void)[] = []
  const whenLet: Answering = () =>
    new Promise((resolve) => waiting.push(() => resolve({ status: 200 })))
  const letGo = () => {
    for (const go of waiting.splice(0)) go()
  }

  test('has a committed journal entry, and keeps no transaction open', async () => {
    const { id } = await answering(whenLet)
    const result = tryOut(id)
    await until('the message is there', () => waiting.length > 0 || undefined)
    expect((await at.entriesOf(id)).at(-1)?.action).toBe('webhook.test')
    const open = await at.service.database.sql(
      `select query from pg_stat_activity where datname = current_database()
         and pid <> pg_backend_pid() and state like 'idle in transaction%'`,
    )
    expect(open).toEqual([])
    letGo()
    expect((await result).status).toBe(200)
  })

  test('allows two more tests of the tenant at a time, and a fourth one is refused', async () => {
    const { id } = await answering(whenLet)
    const results = [tryOut(id), tryOut(id), tryOut(id)]
    await until('three are there', () => waiting.length === 3 || undefined)
    const fourth = await tryOut(id)
    expect(fourth).toMatchObject({ status: 429, body: { code: 'too_many_requests' } })
    expect(Number(fourth.headers['retry-after'])).toBeGreaterThan(0)
    letGo()
    for (const result of results) expect((await result).body.delivered).toBe(true)
    const again = tryOut(id)
    await until('it is there', () => waiting.length === 1 || undefined)
    letGo()
    expect((await again).status).toBe(200)
  })
})

describe('a webhook test to a paused receiver', () => {
  const failing = (id: number) =>
    at.service.database.sql(
      `update webhook_queues set failures = 9, failing_since = now() - interval '1 day',
         paused_until = now() + interval '1 hour' where webhook_id = $1`,
      [id],
    )
  const queueOf = async (id: number) =>
    (await at.service.database.sql('select * from webhook_queues where webhook_id = $1', [id]))[0]

  test('sends its waiting deliveries immediately if the test succeeds', async () => {
    const { id } = await answering()
    await failing(id)
    await tryOut(id)
    const queue = await queueOf(id)
    expect(queue).toMatchObject({ failures: 0, failing_since: null, paused_until: null })
    expect(queue?.due_at).not.toBeNull()
  })

  test('keeps the pause if the test fails', async () => {
    const { id } = await answering(() => ({ status: 503 }))
    await failing(id)
    await tryOut(id)
    expect(await queueOf(id)).toMatchObject({ failures: 9, due_at: null })
  })

  test('keeps the pause if the webhook got another URL during the test', async () => {
    const { id } = await answering(async () => {
      await at.call('PUT', `/${id}`, { body: { url: 'http://127.0.0.1:9/other' } })
      await failing(id)
      return { status: 200 }
    })
    expect((await tryOut(id)).body.delivered).toBe(true)
    expect(await queueOf(id)).toMatchObject({ failures: 9, failing_since: expect.any(String) })
  })

  test('sends no waiting deliveries while the webhook is inactive', async () => {
    const { id } = await answering()
    await at.call('PUT', `/${id}`, { body: { is_active: false } })
    await failing(id)
    await tryOut(id)
    expect(await queueOf(id)).toMatchObject({ failures: 9, due_at: null })
  })
})

describe('shutdown during a webhook test', () => {
  test('aborts the test, and asks the caller to retry', async () => {
    const node = await openClinic()
    const { url, received } = await openReceiver({ answer: () => 'stall' })
    const { id } = await node.register({ url })
    const result = node.call('POST', `/${id}/test`)
    await until('the message is there', () => received.length > 0 || undefined)
    await node.service.close()
    const { status, body, headers } = await result
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'stopping' } })
    expect(headers['retry-after']).toBe('1')
  })
})
