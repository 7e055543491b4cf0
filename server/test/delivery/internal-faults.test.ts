/** An internal error affects only its own webhook, and its log line contains no secrets. */
import { beforeEach, describe, expect, test } from 'vitest'
import { resetCircuit } from '../../src/features/webhooks/engine/queues.store.ts'
import { openSecrets } from '../../src/features/webhooks/registrations/secrets.ts'
import { newWebhookSecret } from '../../src/features/webhooks/sending/signature.ts'
import { MINUTE } from '../../src/lib/clock.ts'
import { gate } from '../sessions/scopes.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene, SECRET, type TestWebhook } from './scene.ts'

let scene: Scene
let tenant: number
let receiver: Receiver

beforeEach(async () => {
  scene = await openScene()
  tenant = await scene.tenant()
  receiver = await openReceiver({ clock: scene.clock })
})

const isIdle = (line: { due_at: string | null; leased_by: string | null }) =>
  line.due_at === null && line.leased_by === null

describe('a webhook whose secret cannot be decrypted', () => {
  test('is sent nothing, is tried again later, and delays no other webhook', async () => {
    const broken = await scene.webhook(tenant, receiver.url)
    const whole = await scene.webhook(tenant, `${receiver.url}/whole`)
    const { sql } = scene.database
    const [kept] = await sql('select * from webhook_secrets where webhook_id = $1', [broken.id])
    const spoil = 'update webhook_secrets set sealed_secret = $2 where webhook_id = $1'
    const spoilt = Buffer.from(kept?.sealed_secret as Buffer).fill(0, 40)
    await sql(spoil, [broken.id, spoilt])
    const node = await startNode(scene)
    await scene.event(tenant)
    await scene.untilSettled(whole)
    const line = await until('the log says so', () =>
      node.logged.find(([, , text]) => text.includes('its secret cannot be decrypted')),
    )
    expect(line).toMatchObject(['error', { webhook_id: broken.id }, expect.any(String)])
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/whole'])
    await until(
      'it is let alone',
      async () => (await scene.queue(broken)).paused_until ?? undefined,
    )
    expect((await scene.queue(broken)).failing_since).toBeNull()
    await sql(spoil, [broken.id, kept?.sealed_secret])
    scene.clock.advance(6 * MINUTE)
    await scene.untilSettled(broken)
    expect(receiver.received).toHaveLength(2)
  })

  test('is never sent an unsigned message, even if it has no secret at all', async () => {
    const bare = await scene.webhook(tenant, receiver.url, { secrets: [] })
    const node = await startNode(scene)
    await scene.event(tenant)
    await until('the log says so', () =>
      node.logged.find(([, , text]) => text.includes('its secret cannot be decrypted')),
    )
    expect(await scene.attempts(bare)).toEqual([])
    expect(receiver.received).toEqual([])
  })
})

/** Makes all current secrets of the webhook undecryptable. */
const spoilSecrets = ({ id }: TestWebhook) =>
  scene.database.sql(
    "update webhook_secrets set sealed_secret = sealed_secret || '\\x00' where webhook_id = $1",
    [id],
  )

/** Sets a secret as the API does. */
const giveSecret = (webhook: TestWebhook, secret: string) =>
  scene.db.inTenant(tenant, async (tx) => {
    await openSecrets(scene).replace(tx, webhook, secret)
    tx.invalidate(`webhook:${webhook.id}`)
  })

test('an additional secret that cannot be decrypted is logged once, and the other secrets sign', async () => {
  const webhook = await scene.webhook(tenant, receiver.url, { secrets: [newWebhookSecret()] })
  await spoilSecrets(webhook)
  await giveSecret(webhook, SECRET)
  const node = await startNode(scene)
  for (const count of [1, 2]) {
    await scene.event(tenant)
    await scene.untilSettled(webhook, count)
    await until('it is let go of', async () => isIdle(await scene.queue(webhook)) || undefined)
  }
  expect(receiver.verifyWith(SECRET)).toHaveLength(2)
  for (const { headers } of receiver.received)
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(1)
  const told = node.logged.filter(([, , text]) => text.includes('cannot be decrypted'))
  expect(told).toEqual([['warn', { webhook_id: webhook.id }, expect.any(String)]])
})

test('a webhook with an undecryptable secret receives pending messages once it gets a new secret', async () => {
  const webhook = await scene.webhook(tenant, receiver.url)
  await spoilSecrets(webhook)
  await startNode(scene)
  await scene.event(tenant)
  await until('it is let alone', async () => (await scene.queue(webhook)).paused_until ?? undefined)
  const secret = newWebhookSecret()
  await giveSecret(webhook, secret)
  await scene.untilSettled(webhook)
  expect(receiver.verifyWith(secret)).toHaveLength(1)
})

test('a tenant with an undecryptable data key is sent nothing for a while, and other tenants are not affected', async () => {
  const broken = [
    await scene.webhook(tenant, receiver.url),
    await scene.webhook(tenant, receiver.url),
  ]
  const whole = await scene.webhook(await scene.tenant(), `${receiver.url}/whole`)
  const { sql } = scene.database
  const [kept] = await sql('select wrapped_key from data_keys where tenant_id = $1', [tenant])
  const spoil = 'update data_keys set wrapped_key = $2 where tenant_id = $1'
  await sql(spoil, [tenant, Buffer.from(kept?.wrapped_key as Buffer).fill(0, 40)])
  const node = await startNode(scene)
  await scene.event(tenant)
  for (const webhook of broken)
    await until(
      'it is let alone',
      async () => (await scene.queue(webhook)).paused_until ?? undefined,
    )
  await scene.event(whole.tenant_id)
  await scene.untilSettled(whole)
  expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/whole'])
  expect(node.logText()).toContain('its secret cannot be decrypted')
  await sql(spoil, [tenant, kept?.wrapped_key])
  scene.clock.advance(6 * MINUTE)
  for (const webhook of broken) await scene.untilSettled(webhook)
  expect(receiver.received).toHaveLength(3)
})

test('a delivery fails if its event was removed from the journal, and the other deliveries continue', async () => {
  const webhook = await scene.webhook(tenant, receiver.url)
  const { id, tenant_id } = webhook
  const now = new Date(scene.clock.now()).toISOString()
  await scene.database.sql(
    `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at)
     select $1, $2, g, $3, 'user.created', $3 from generate_series(1000001, 1000030) g`,
    [tenant_id, id, now],
  )
  await scene.db.inTenant(tenant_id, (tx) => resetCircuit(tx, id, now))
  const node = await startNode(scene)
  const { message } = await scene.event(tenant)
  await scene.untilSettled(webhook, 31)
  expect(receiver.received.map((request) => request.id)).toEqual([message])
  const rows = await scene.deliveries(webhook)
  expect(rows.filter(({ status }) => status === 'failed')).toHaveLength(30)
  expect(node.logText()).toContain('their events no longer exist')
  await until('the queue is idle', async () => isIdle(await scene.queue(webhook)) || undefined)
})

test('an error while composing or sending a message pauses only that webhook', async () => {
  const webhook = await scene.webhook(tenant, 'http://127.0.0.1:9/broken')
  const whole = await scene.webhook(tenant, receiver.url)
  let calls = 0
  const node = await startNode(scene, {
    async send({ url }) {
      if (url.endsWith('/broken') && calls++ === 0) throw new TypeError('a fault of ours')
      const started_at = new Date(scene.clock.now()).toISOString()
      const none = { error: null, detail: null, address: null, response_body: null }
      return { ...none, started_at, duration_ms: 1, status_code: 200, retry_after: null }
    },
  })
  await scene.event(tenant)
  await scene.untilSettled(whole)
  await until('the log says so', () => node.logText().includes('a fault of ours') || undefined)
  expect((await scene.deliveries(webhook)).map(({ attempts }) => attempts)).toEqual([0])
  await until('it is let alone', async () => (await scene.queue(webhook)).paused_until ?? undefined)
  scene.clock.advance(6 * MINUTE)
  await scene.untilSettled(webhook)
})

test('an attempt that cannot be recorded pauses only its own webhook', async () => {
  const webhook = await scene.webhook(tenant, 'http://127.0.0.1:9/poison')
  const whole = await scene.webhook(tenant, receiver.url)
  let body = 'a\0b'
  const node = await startNode(scene, {
    async send({ url }) {
      const started_at = new Date(scene.clock.now()).toISOString()
      const sent = { started_at, duration_ms: 1, status_code: 200, retry_after: null }
      const response_body = url.endsWith('/poison') ? body : ''
      return { ...sent, error: null, detail: null, address: null, response_body }
    },
  })
  for (let count = 0; count < 10; count += 1) await scene.event(tenant)
  await scene.untilSettled(whole, 10)
  await until('it is let alone', async () => (await scene.queue(webhook)).paused_until ?? undefined)
  expect(node.logText()).toContain('recording a delivery failed')
  body = ''
  scene.clock.advance(6 * MINUTE)
  await scene.untilSettled(webhook, 10)
})

test('deleting a webhook while a message is being sent records no attempt', async () => {
  const { pass, open } = gate()
  const gone = await openReceiver({ answer: () => pass.then(() => ({ status: 200 })) })
  const webhook = await scene.webhook(tenant, gone.url)
  const other = await scene.webhook(tenant, receiver.url)
  const node = await startNode(scene)
  await scene.event(tenant)
  await until('it is under way', () => gone.open() === 1 || undefined)
  await scene.db.inTenant(tenant, async (tx) => {
    await tx.db.deleteFrom('webhooks').where('id', '=', webhook.id).execute()
    tx.invalidate(`webhook:${webhook.id}`)
  })
  open()
  await until('it has been answered', () =>
    node.logged.find(([, fields]) => fields.webhook_id === webhook.id),
  )
  // The worker records this delivery after the deleted delivery.
  await scene.event(tenant)
  await scene.untilSettled(other, 2)
  expect(await scene.attempts(webhook)).toEqual([])
  expect(node.logged.filter(([level]) => level === 'error')).toEqual([])
})

test('deleting a webhook frees the concurrency slot that its process used for that webhook', async () => {
  const webhook = await scene.webhook(tenant, receiver.url)
  const node = await startNode(scene, {
    tuning: { queues: 1, slowQueues: 0, idleTimeoutMs: 3_600_000 },
  })
  await scene.event(tenant)
  await scene.untilSettled(webhook)
  await scene.db.inTenant(tenant, async (tx) => {
    await tx.db.deleteFrom('webhooks').where('id', '=', webhook.id).execute()
    tx.invalidate(`webhook:${webhook.id}`)
  })
  const next = await scene.webhook(tenant, receiver.url)
  await scene.event(tenant)
  await scene.untilSettled(next)
  await node.stop()
})

test('the log contains only the host of a URL, and no secret, signature or body', async () => {
  const path = '/hidden-path'
  const plain = 'hidden secret of sixteen and more'
  receiver.answerWith((request, index) => {
    if (request.path.includes('410')) return { status: 410, body: 'hidden answer' }
    return index % 3 === 0
      ? 'reset'
      : { status: index % 3 === 1 ? 500 : 200, body: 'hidden answer' }
  })
  const urls = [`${receiver.url}${path}?key=hidden-key`, `${receiver.url}${path}/410`]
  urls.push(`http://127.0.0.1:9${path}`, `http://10.0.0.1${path}`)
  const webhooks = []
  for (const url of urls)
    webhooks.push(await scene.webhook(tenant, url, { secrets: [plain, SECRET] }))
  const node = await startNode(scene)
  for (let count = 0; count < 5; count += 1)
    await scene.event(tenant, 'department.updated', { after: { name: 'hidden change' } })
  for (const webhook of webhooks)
    await until('all are tried', async () => (await scene.attempts(webhook))[0])
  await until(
    'one is gone',
    async () => (await scene.database.sql('select from webhooks where not is_active'))[0],
  )
  const tries = () => node.logged.filter(([, , message]) => message === 'webhook attempt')
  for (const status of [200, 500])
    await until(
      `an answer of ${status} is logged`,
      () => tries().some(([, { status_code }]) => status_code === status) || undefined,
    )
  await node.stop()
  const text = node.logText()
  const levels = tries().map(([level, { error }]) => [level, error === null])
  for (const [level, isSuccess] of levels) expect(level).toBe(isSuccess ? 'debug' : 'info')
  expect(text).not.toMatch(/hidden/)
  expect(text).not.toContain(SECRET.slice('whsec_'.length))
  for (const { headers } of receiver.received)
    for (const signature of headers['webhook-signature']?.split(' ') ?? [])
      expect(text).not.toContain(signature.slice('v1,'.length))
})
