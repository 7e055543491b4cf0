/** Self-healing for webhooks that deliver nothing although their receivers work. */
import { beforeAll, describe, expect, test } from 'vitest'
import { disabler } from '../../src/features/webhooks/engine/disable.ts'
import { probeDisabled } from '../../src/features/webhooks/probes/probes.jobs.ts'
import { scheduleForgotten } from '../../src/features/webhooks/webhooks.jobs.ts'
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts'
import type { Finding } from '../../src/platform/feature/fix.ts'
import { openReceiver } from '../support/receiver.ts'
import { findings, fixOf, repair } from '../support/self-healing-fixes.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic
let service: Service

beforeAll(async () => {
  at = await openClinic()
  service = at.service
})

const fix = (key: string) => fixOf(service.app.fixes, key)
const found = (key: string) => findings(service.app.db, fix(key))
const sql: Service['database']['sql'] = (text, values) => service.database.sql(text, values)
const iso = (ms = 0) => new Date(service.clock.now() + ms).toISOString()

/** Probes receivers as the job does, on this node or another node. */
const probe = (node = service) =>
  probeDisabled(
    {
      db: node.app.db,
      clock: service.clock,
      log: silentLog,
      probe: node.app.features.webhooks.services.testDeliveries.probe,
    },
    new AbortController().signal,
  )

/** Creates a webhook that was deactivated because its receiver failed for five days. */
async function deactivated(reason: 'failing' | 'gone' = 'failing') {
  const receiver = await openReceiver({
    clock: service.clock,
    answer: () => ({ status: 500 }),
  })
  const webhook = await at.register({ url: `${receiver.url}/token-in-path?key=hidden` })
  const since = iso(-5 * DAY)
  await sql('update webhook_queues set failing_since = $2 where webhook_id = $1', [
    webhook.id,
    since,
  ])
  const mailer = { isConfigured: false, send: async () => undefined }
  const disable = disabler({ db: service.app.db, mailer, keepDays: 14 })
  await disable({ ...webhook, resets: 0, reason, since })
  return { receiver, webhook, since }
}

const rowOf = async (id: number) => {
  const [row] = await sql(
    `select w.is_active, w.disabled_reason, q.due_at, q.failing_since, q.probed_at, q.answered_at
     from webhooks w join webhook_queues q on q.webhook_id = w.id where w.id = $1`,
    [id],
  )
  return row
}

describe('a webhook that was deactivated by failures', () => {
  test('is tested every six hours at most, and can be activated once its receiver responds', async () => {
    const { receiver, webhook, since } = await deactivated()
    await Promise.all([probe(), probe()])
    expect(receiver.received).toHaveLength(1)
    expect(await found('webhooks.disabled')).toEqual([])
    receiver.answerWith(() => ({ status: 200 }))
    service.clock.advance(6 * HOUR - MINUTE)
    await probe()
    expect(receiver.received).toHaveLength(1)
    service.clock.advance(2 * MINUTE)
    await probe()
    expect(receiver.received).toHaveLength(2)
    const messages = receiver.verifyWith(webhook.secret)
    expect(messages.map(({ type, data }) => [type, data.user_id])).toEqual([
      ['webhook.test', null],
      ['webhook.test', null],
    ])
    const [finding, ...others] = await found('webhooks.disabled')
    expect(others).toEqual([])
    const answered_at = expect.stringMatching(/^20.*Z$/)
    expect(finding).toEqual({
      tenant_id: at.clinic.id,
      subject: `webhook ${webhook.id}`,
      measured: { is_active: false, failing_since: since, answered_at },
      expected: { is_active: true },
      since: answered_at,
    })
    expect(await rowOf(webhook.id)).toMatchObject({ is_active: false })
    const both = await Promise.all(
      [1, 2].map(() => repair(service.app.db, fix('webhooks.disabled'), finding as Finding)),
    )
    expect(both.sort()).toEqual(['already gone', 'repaired'])
    expect(await rowOf(webhook.id)).toEqual({
      is_active: true,
      disabled_reason: null,
      due_at: expect.any(String),
      failing_since: null,
      probed_at: null,
      answered_at: null,
    })
    expect((await at.entriesOf(webhook.id)).at(-1)).toMatchObject({
      action: 'webhook.updated',
      changes: {
        before: { is_active: false, disabled_reason: 'failing' },
        after: { is_active: true, disabled_reason: null },
      },
    })
    expect(await found('webhooks.disabled')).toEqual([])
  })

  test('is not reported any more when its receiver fails again or its URL changes', async () => {
    const { receiver, webhook } = await deactivated()
    receiver.answerWith(() => ({ status: 200 }))
    await probe()
    const [first] = await found('webhooks.disabled')
    service.clock.advance(6 * HOUR)
    await probe()
    // The receiver has succeeded in two probes, the first and a later one.
    expect(await found('webhooks.disabled')).toEqual([first])
    receiver.answerWith(() => ({ status: 503 }))
    service.clock.advance(6 * HOUR)
    await probe()
    expect(await found('webhooks.disabled')).toEqual([])
    expect(await repair(service.app.db, fix('webhooks.disabled'), first as Finding)).toBe(
      'already gone',
    )
    receiver.answerWith(() => ({ status: 200 }))
    service.clock.advance(6 * HOUR)
    await probe()
    expect(await found('webhooks.disabled')).toHaveLength(1)
    const other = { url: 'http://127.0.0.1:9/other' }
    expect((await at.call('PUT', `/${webhook.id}`, { body: other })).status).toBe(200)
    expect(await found('webhooks.disabled')).toEqual([])
  })

  test('is tested at its new URL after a change', async () => {
    const { receiver, webhook } = await deactivated()
    const other = await openReceiver({
      clock: service.clock,
      answer: (_request, index) => ({ status: index === 0 ? 503 : 200 }),
    })
    await at.call('PUT', `/${webhook.id}`, { body: { url: other.url } })
    await probe()
    // The fix stops probing the webhook after the same time as any other failing webhook.
    const { probed_at, failing_since } = (await rowOf(webhook.id)) ?? {}
    expect(failing_since).toBe(probed_at)
    service.clock.advance(6 * HOUR)
    await probe()
    expect([receiver.received.length, other.received.length]).toEqual([0, 2])
    const subjects = (await found('webhooks.disabled')).map(({ subject }) => subject)
    expect(subjects).toEqual([`webhook ${webhook.id}`])
  })

  test('is tested only through the network guard, and not if it is gone or deleted', async () => {
    const guarded = await deactivated()
    const strict = await openService({
      database: service.database,
      config: { WEBHOOK_ALLOWED_NETWORKS: [] },
    })
    await probe(strict)
    expect(await rowOf(guarded.webhook.id)).toMatchObject({
      probed_at: expect.any(String),
      answered_at: null,
    })
    const gone = await deactivated('gone')
    const forgotten = await deactivated()
    await sql('update webhook_queues set failing_since = $2 where webhook_id = $1', [
      forgotten.webhook.id,
      iso(-31 * DAY),
    ])
    await probe()
    for (const { receiver } of [guarded, gone, forgotten]) expect(receiver.received).toEqual([])
  })
})

/** Creates a webhook with a delivery that has been pending since `ms`. Its queue has lost its due time. */
async function lost(ms: number) {
  const receiver = await openReceiver({ clock: service.clock })
  const webhook = await at.register({ url: receiver.url })
  const [entry] = await at.entriesOf(webhook.id)
  await sql(
    `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at)
     select tenant_id, $1, id, created_at, action, $3 from journal where id = $2`,
    [webhook.id, entry?.id, iso(-ms)],
  )
  await sql('update webhook_queues set due_at = null where webhook_id = $1', [webhook.id])
  return { receiver, webhook }
}

test('the upkeep makes a webhook queue due if its deliveries have been waiting for minutes', async () => {
  // Removes the deliveries that earlier tests created.
  await sql('update webhook_queues set due_at = null')
  const young = await lost(9 * MINUTE)
  const old = await lost(11 * MINUTE)
  await scheduleForgotten({ db: service.app.db, clock: service.clock })
  expect(await rowOf(young.webhook.id)).toMatchObject({ due_at: null })
  expect(await rowOf(old.webhook.id)).toMatchObject({ due_at: expect.any(String) })
  const worker = await openService({ database: service.database, role: 'worker' })
  worker.clock.advance(service.clock.now() - Date.now())
  await until('it has arrived', () => old.receiver.received.length > 0 || undefined)
})
