/** Registering, changing and deleting webhooks. */
import { beforeAll, describe, expect, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { openLog } from '../../src/platform/observe/log.ts'
import { until } from '../support/until.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic

beforeAll(async () => {
  at = await openClinic()
})

const register = (body: Record<string, unknown>) =>
  at.call('POST', '/register', { body: { events: ['*'], ...body } })
const put = (id: number, body: unknown) => at.call('PUT', `/${id}`, { body })
const URL_TEXT = 'http://127.0.0.1:9/hook'

describe('a registered webhook', () => {
  test("is active, belongs to the caller's tenant, and is listed by ID", async () => {
    const one = await at.register({ events: ['user.*'] })
    const two = await at.register({ secret: 'a-secret-of-my-own' })
    expect(one).toEqual({
      id: expect.any(Number),
      tenant_id: at.clinic.id,
      url: URL_TEXT,
      events: ['user.*'],
      is_active: true,
      created_at: expect.stringMatching(/Z$/),
      disabled_reason: null,
      failing_since: null,
      secret: expect.stringMatching(/^whsec_/),
    })
    const { secret: _, ...shown } = one
    const { body } = await at.call('GET')
    expect(body.filter(({ id }: { id: number }) => id === one.id || id === two.id)).toEqual([
      shown,
      two,
    ])
  })

  test('has its own queue, which is idle', async () => {
    const { id } = await at.register()
    expect(
      await at.service.database.sql(
        'select due_at, failures, leased_by from webhook_queues where webhook_id = $1',
        [id],
      ),
    ).toEqual([{ due_at: null, failures: 0, leased_by: null }])
  })

  test.each([
    ['https://Example.ORG', 'https://example.org/'],
    ['https://example.org:443/a/../b?c=d#part', 'https://example.org/b?c=d'],
    [' https://example.org/x ', 'https://example.org/x'],
    ['https://bücher.example/ä', 'https://xn--bcher-kva.example/%C3%A4'],
    ['http://127.0.0.1:80/', 'http://127.0.0.1/'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
  ])('with the URL %s is stored with the URL %s', async (url, kept) => {
    const { id, url: told } = await at.register({ url })
    expect(told).toBe(kept)
    await at.call('DELETE', `/${id}`)
  })

  test('subscribes only once to an event that is named twice', async () => {
    const events = ['user.*', 'user.created', 'user.*', 'user.created']
    expect((await at.register({ events })).events).toEqual(['user.*', 'user.created'])
  })

  test('is journaled without the path of its URL', async () => {
    const url = 'http://127.0.0.1:9/hook/with-a-token?key=value'
    const { id } = await at.register({ url, events: ['user.*'] })
    await put(id, { url: `${url}2`, is_active: false })
    await at.call('DELETE', `/${id}`)
    const shown = 'http://127.0.0.1:9/…'
    const kept = { events: ['user.*'] }
    expect(await at.entriesOf(id)).toMatchObject([
      {
        action: 'webhook.registered',
        changes: { before: null, after: { ...kept, url: shown, is_active: true } },
      },
      {
        action: 'webhook.updated',
        changes: {
          before: { url: shown, is_active: true, disabled_reason: null },
          after: { url: shown, is_active: false, disabled_reason: 'admin' },
        },
      },
      {
        action: 'webhook.deleted',
        changes: { before: { ...kept, url: shown, is_active: false }, after: null },
      },
    ])
  })
})

describe('a change of a webhook', () => {
  test('keeps omitted fields, and returns no secret', async () => {
    const { secret: _, ...made } = await at.register({ events: ['user.*'] })
    expect((await put(made.id, { events: ['*'] })).body).toEqual({ ...made, events: ['*'] })
    expect((await put(made.id, { url: 'http://127.0.0.1:10/' })).body).toEqual({
      ...made,
      events: ['*'],
      url: 'http://127.0.0.1:10/',
    })
    expect(await put(made.id, { secret: 'another-secret-of-mine' })).toMatchObject({
      status: 200,
      body: { ...made, events: ['*'], url: 'http://127.0.0.1:10/' },
    })
  })

  test('to the current values changes nothing, and is not journaled', async () => {
    const secret = 'a-secret-of-my-own'
    const { secret: _, ...made } = await at.register({ secret, events: ['user.*', 'auth.*'] })
    for (const body of [
      {},
      { url: `${URL_TEXT}#part` },
      { events: ['user.*', 'auth.*', 'user.*'] },
      { is_active: true },
      { secret },
      { unknown: 1 },
    ])
      expect([body, await put(made.id, body)]).toMatchObject([body, { status: 200, body: made }])
    expect(await at.entriesOf(made.id)).toHaveLength(1)
  })

  test('notifies the processes that send for the webhook', async () => {
    const { id } = await at.register()
    const told: (string | null)[] = []
    const changes = watchChanges(at.service.database.address, openLog('silent'), systemTime)
    changes.subscribe((topic) => void told.push(topic))
    await until('the listener is there', () => changes.trusted() || undefined)
    await put(id, { events: ['user.*'] })
    await until('the change is heard', () => told.includes(`webhook:${id}`) || undefined)
    await changes.stop()
  })
})

describe('the state of a webhook', () => {
  const queueOf = async (id: number) =>
    (await at.service.database.sql('select * from webhook_queues where webhook_id = $1', [id]))[0]
  const failing = (id: number) =>
    at.service.database.sql(
      `update webhook_queues set failures = 7, failing_since = '2026-11-01', slots = 1,
         paused_until = '2099-01-01' where webhook_id = $1`,
      [id],
    )

  test('contains the admin as the reason of a deactivation, and no reason after an activation', async () => {
    const { id } = await at.register()
    expect((await put(id, { is_active: false })).body).toMatchObject({
      is_active: false,
      disabled_reason: 'admin',
    })
    expect((await put(id, { is_active: true })).body).toMatchObject({
      is_active: true,
      disabled_reason: null,
    })
  })

  test('keeps the reason of a deactivation by the service', async () => {
    const { id } = await at.register()
    await at.service.database.sql(
      "update webhooks set is_active = false, disabled_reason = 'failing' where id = $1",
      [id],
    )
    expect((await put(id, { is_active: false })).body.disabled_reason).toBe('failing')
    expect((await put(id, { events: ['user.*'] })).body.disabled_reason).toBe('failing')
  })

  test('keeps recorded failures on deactivation, and contains none after an activation', async () => {
    const { id } = await at.register()
    await failing(id)
    await put(id, { is_active: false })
    const { body } = await at.call('GET')
    expect(body.find((webhook: { id: number }) => webhook.id === id).failing_since).toBe(
      '2026-11-01T00:00:00.000Z',
    )
    expect((await put(id, { is_active: true })).body.failing_since).toBeNull()
    expect(await queueOf(id)).toMatchObject({
      failures: 0,
      failing_since: null,
      slots: 4,
      paused_until: null,
      epoch: 1,
    })
    expect((await queueOf(id))?.due_at).not.toBeNull()
  })

  test('contains no failures of the former receiver after the URL has changed', async () => {
    const { id } = await at.register()
    await failing(id)
    expect((await put(id, { events: ['user.*'] })).body.failing_since).not.toBeNull()
    expect((await put(id, { url: 'http://127.0.0.1:10/' })).body.failing_since).toBeNull()
    expect(await queueOf(id)).toMatchObject({ failures: 0, epoch: 1 })
  })
})

describe('deleting a webhook', () => {
  test('removes it immediately, with its secrets and its queue', async () => {
    const { id } = await at.register()
    expect(await at.call('DELETE', `/${id}`)).toMatchObject({ status: 204, body: undefined })
    expect((await put(id, {})).status).toBe(404)
    expect((await at.call('DELETE', `/${id}`)).status).toBe(404)
    for (const table of ['webhook_secrets', 'webhook_queues'])
      expect(
        await at.service.database.sql(`select 1 from ${table} where webhook_id = $1`, [id]),
      ).toEqual([])
  })
})

describe('a webhook is refused if it has', () => {
  const faultOf = async (body: Record<string, unknown>) => {
    const answer = await register(body)
    expect([body, answer.status]).toEqual([body, 422])
    return answer.body.detail
  }

  test.each(['hook', '', 'example.org/hook', 'http://', 'https://exa mple.org'])(
    'an invalid URL: %j',
    async (url) => {
      expect(await faultOf({ url })).toEqual([
        { loc: ['body', 'url'], msg: 'Input should be a valid URL', type: 'url_parsing' },
      ])
    },
  )

  test.each([
    'ftp://example.org/',
    'https://user:word@example.org/',
    'http://10.0.0.1/',
    'https://[::1]/',
    'http://169.254.169.254/latest/meta-data',
    'https://[64:ff9b::a00:1]/',
    `https://example.org/${'ä'.repeat(600)}`,
  ])('a forbidden URL: %s', async (url) => {
    expect(await faultOf({ url })).toMatchObject([{ loc: ['body', 'url'], type: 'value_error' }])
  })

  test('a URL of more than 2048 characters', async () => {
    const url = `https://example.org/${'x'.repeat(2029)}`
    expect(await faultOf({ url })).toMatchObject([
      { loc: ['body', 'url'], type: 'string_too_long' },
    ])
    const { id } = await at.register({ url: url.slice(0, -1) })
    await at.call('DELETE', `/${id}`)
  })

  test.each([
    ['short', 'string_too_short'],
    ['x'.repeat(513), 'string_too_long'],
    [`whsec_${Buffer.alloc(23).toString('base64')}`, 'value_error'],
    [`whsec_${Buffer.alloc(65).toString('base64')}`, 'value_error'],
    ['whsec_this is no base64 at all', 'value_error'],
  ])('an invalid secret: %j', async (secret, type) => {
    expect(await faultOf({ url: URL_TEXT, secret })).toMatchObject([
      { loc: ['body', 'secret'], type },
    ])
  })

  test.each([
    ['none', [], 'too_short'],
    ['too many', Array.from({ length: 101 }, () => '*'), 'too_long'],
  ])('an invalid number of events: %s', async (_what, events, type) => {
    expect(await faultOf({ url: URL_TEXT, events })).toMatchObject([
      { loc: ['body', 'events'], type },
    ])
  })

  test('several faults, which are all reported together', async () => {
    const detail = await faultOf({
      url: 'ftp://example.org',
      events: ['user.*', 'user.none'],
      secret: 'whsec_this is no base64',
    })
    expect(detail.map(({ loc }: { loc: string[] }) => loc.join('.')).sort()).toEqual([
      'body.events.1',
      'body.secret',
      'body.url',
    ])
    const { body } = await at.call('POST', '/register', { body: { url: 'http://10.0.0.1' } })
    expect(body.detail).toHaveLength(2)
  })

  test('invalid or null fields in a change', async () => {
    const { id } = await at.register()
    for (const body of [
      { url: 'https://10.0.0.1/' },
      { url: null },
      { events: null },
      { events: [] },
      { is_active: null },
      { secret: null },
      { secret: 'short' },
    ])
      expect([body, (await put(id, body)).status]).toEqual([body, 422])
    expect(await at.entriesOf(id)).toHaveLength(1)
  })
})

describe("without the operator's permission", () => {
  test('a URL without encryption or in a private network is rejected', async () => {
    const strict = await openClinic({
      config: { WEBHOOK_ALLOW_HTTP: false, WEBHOOK_ALLOWED_NETWORKS: [] },
    })
    for (const url of ['http://example.org/', 'https://127.0.0.1/', 'https://localhost/']) {
      const body = { url, events: ['*'] }
      const answer = await strict.call('POST', '/register', { body })
      expect([url, answer.status]).toEqual([url, 422])
    }
    expect((await strict.register({ url: 'https://example.org/' })).is_active).toBe(true)
  })
})
