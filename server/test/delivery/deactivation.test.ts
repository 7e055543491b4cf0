/** Deactivates a webhook whose receiver is gone or has failed for days, and notifies its admins. */
import { beforeEach, describe, expect, test } from 'vitest'
import { disabler } from '../../src/features/webhooks/engine/disable.ts'
import { resetCircuit } from '../../src/features/webhooks/engine/queues.store.ts'
import { notifyDue } from '../../src/features/webhooks/engine/topics.ts'
import { shareWebhook } from '../../src/features/webhooks/registrations/registrations.store.ts'
import { DAY } from '../../src/lib/clock.ts'
import { gate } from '../sessions/scopes.ts'
import { openReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { startNode } from './node.ts'
import { openScene, type Scene, type TestWebhook } from './scene.ts'

let scene: Scene
let tenant: number

beforeEach(async () => {
  scene = await openScene()
  tenant = await scene.tenant()
  await scene.admin(tenant, 'first@clinic.test')
  await scene.admin(tenant, 'second@clinic.test')
  await scene.admin(tenant, 'blocked@clinic.test', { is_active: false })
  await scene.admin(tenant, 'doctor@clinic.test', { role: 'doctor' })
  await scene.admin(await scene.tenant(), 'stranger@clinic.test')
})

const iso = (offset = 0) => new Date(Date.now() + offset).toISOString()

async function rowOf({ id }: TestWebhook) {
  const [row] = await scene.database.sql('select * from webhooks where id = $1', [id])
  return row
}

const untilInactive = (webhook: TestWebhook) =>
  until('it is inactive', async () => (await rowOf(webhook))?.is_active === false || undefined)

const journaled = () =>
  scene.database.sql<{ changes: { failing_since: string } }>(
    `select tenant_id, user_id, resource_type, resource_id, changes from journal
     where action = 'webhook.disabled'`,
  )

describe('a webhook whose receiver answers 410', () => {
  test('is deactivated with the reason "gone", only once for any number of processes', async () => {
    const receiver = await openReceiver({ answer: () => ({ status: 410 }) })
    const webhook = await scene.webhook(tenant, `${receiver.url}/token-in-path?key=secret`)
    const nodes = [await startNode(scene), await startNode(scene)]
    await Promise.all(Array.from({ length: 8 }, () => scene.event(tenant)))
    await untilInactive(webhook)
    await until('all is written down', async () => {
      const { leased_by } = await scene.queue(webhook)
      return leased_by === null || undefined
    })
    expect(await rowOf(webhook)).toMatchObject({ disabled_reason: 'gone' })
    const url = `${new URL(receiver.url).origin}/…`
    expect(await journaled()).toEqual([
      {
        tenant_id: tenant,
        user_id: null,
        resource_type: 'webhook',
        resource_id: String(webhook.id),
        changes: { url, reason: 'gone', failing_since: expect.any(String) },
      },
    ])
    const mails = nodes.flatMap((node) => node.mails)
    expect(mails.map(({ to }) => to).sort()).toEqual(['first@clinic.test', 'second@clinic.test'])
    for (const { text, html } of mails) {
      expect(text).toContain(`webhook ${webhook.id}, which sends to ${url}, was deactivated`)
      expect(text).toContain('no longer exists (410 Gone)')
      expect(text + html).not.toMatch(/token-in-path|key=secret/)
    }
  })

  test('is sent nothing more, and its events are kept until it is active again', async () => {
    const receiver = await openReceiver({ answer: () => ({ status: 410 }) })
    const webhook = await scene.webhook(tenant, receiver.url)
    await startNode(scene)
    const first = await scene.event(tenant)
    await untilInactive(webhook)
    const sent = receiver.received.length
    // Once the other receiver has the second event, this receiver would have it too, if it were sent.
    const other = await openReceiver()
    await scene.webhook(tenant, other.url)
    const second = await scene.event(tenant)
    await until('it has arrived', () => other.received.length > 0 || undefined)
    expect(receiver.received).toHaveLength(sent)
    expect((await scene.deliveries(webhook)).map(({ status }) => status)).toEqual([
      'pending',
      'pending',
    ])
    receiver.answerWith(() => ({ status: 200 }))
    scene.clock.advance(DAY)
    await scene.change(webhook, { is_active: true, disabled_reason: null })
    await scene.db.inTenant(tenant, async (tx) => {
      await resetCircuit(tx, webhook.id, new Date(scene.clock.now()).toISOString())
      notifyDue(tx, [webhook.id])
    })
    await scene.untilSettled(webhook, 2)
    const ids = receiver.received.slice(sent).map(({ id }) => id)
    expect(ids.sort()).toEqual([first.message, second.message].sort())
  })
})

describe('a webhook whose receiver has failed for five days', () => {
  test('is deactivated with the reason "failing" and the day of the first failure', async () => {
    const receiver = await openReceiver({ answer: () => ({ status: 500 }) })
    const webhook = await scene.webhook(tenant, receiver.url)
    const node = await startNode(scene)
    await scene.event(tenant)
    const since = await until('it fails', async () => {
      const { failing_since } = await scene.queue(webhook)
      return failing_since ?? undefined
    })
    for (let day = 1; day <= 5; day += 1) {
      expect(await rowOf(webhook)).toMatchObject({ is_active: true })
      const before = receiver.received.length
      scene.clock.advance(DAY)
      await until('it is tried again', () => receiver.received.length > before || undefined)
      await until('it is written down', async () => {
        const tried = await scene.attempts(webhook)
        return tried.length === receiver.received.length || undefined
      })
    }
    await untilInactive(webhook)
    expect(await rowOf(webhook)).toMatchObject({ disabled_reason: 'failing' })
    expect(await journaled()).toMatchObject([
      { changes: { reason: 'failing', failing_since: since } },
    ])
    await until('the mails are there', () => node.mails.length === 2 || undefined)
    const minute = since.slice(0, 16).replace('T', ' ')
    expect(node.mails[0]?.text).toContain(`all messages to it have failed since ${minute} UTC`)
  })

  test('stays active if an attempt succeeded within the five days', async () => {
    const answers = [500, 200, 500]
    const receiver = await openReceiver({
      answer: (_, index) => ({ status: answers[index] ?? 200 }),
    })
    const webhook = await scene.webhook(tenant, receiver.url)
    const node = await startNode(scene)
    await scene.event(tenant)
    await until('it is refused', async () => (await scene.attempts(webhook))[0])
    scene.clock.advance(3 * DAY)
    await scene.untilSettled(webhook)
    scene.clock.advance(3 * DAY)
    await scene.event(tenant)
    await until('it is refused again', () => receiver.received.length === 3 || undefined)
    scene.clock.advance(DAY)
    await scene.untilSettled(webhook, 2)
    expect(await rowOf(webhook)).toMatchObject({ is_active: true })
    expect(node.mails).toEqual([])
  })
})

test('deactivating a webhook of the platform tenant notifies the superadmins', async () => {
  const platform = await scene.tenant()
  await scene.admin(platform, 'root@platform.test', { role: 'superadmin' })
  const receiver = await openReceiver({ answer: () => ({ status: 410 }) })
  await scene.webhook(platform, receiver.url)
  const node = await startNode(scene)
  await scene.event(platform)
  await until('the mail is there', () => node.mails[0])
  expect(node.mails.map(({ to }) => to)).toEqual(['root@platform.test'])
})

/**
 * Creates a webhook that has failed since this time. The returned `failing` function reports another failure, which
 * deactivates the webhook.
 */
async function failingWebhook(since: string) {
  const webhook = await scene.webhook(tenant, 'https://receiver.test/')
  await scene.database.sql('update webhook_queues set failing_since = $1', [since])
  const mails: string[] = []
  const mailer = {
    isConfigured: true,
    send: async (_: unknown, { to }: { to: string }) => void mails.push(to),
  }
  const disable = disabler({ db: scene.db, mailer, keepDays: 30 })
  const failing = (reason: 'failing' | 'gone') => disable({ ...webhook, resets: 0, reason, since })
  return { webhook, mails, failing }
}

test('only one of many concurrent deactivations takes effect, and does not replace an admin’s earlier one', async () => {
  const { webhook, mails, failing } = await failingWebhook(iso(-5 * DAY))
  await Promise.all(Array.from({ length: 10 }, () => failing('failing')))
  expect(mails).toHaveLength(2)
  expect(await journaled()).toHaveLength(1)
  await scene.change(webhook, { is_active: false, disabled_reason: 'admin' })
  await failing('gone')
  expect(await rowOf(webhook)).toMatchObject({ disabled_reason: 'admin' })
  expect(mails).toHaveLength(2)
})

describe('an attempt that started earlier does not deactivate a webhook', () => {
  test.each(['failing', 'gone'] as const)('that was activated again: %s', async (reason) => {
    const { webhook, failing } = await failingWebhook(iso(-5 * DAY))
    await scene.db.acrossTenants((tx) => resetCircuit(tx, webhook.id, iso()))
    await failing(reason)
    expect(await rowOf(webhook)).toMatchObject({ is_active: true })
  })

  test.each([
    ['now fails again', -DAY],
    ['still succeeds', null],
  ])('whose receiver has succeeded since then, and %s', async (_how, since) => {
    const { webhook, failing } = await failingWebhook(iso(-5 * DAY))
    await scene.database.sql('update webhook_queues set failing_since = $1', [
      since === null ? null : iso(since),
    ])
    await failing('failing')
    expect(await rowOf(webhook)).toMatchObject({ is_active: true })
  })

  test('whose receiver just passed a webhook test that is still being recorded', async () => {
    const { webhook, failing } = await failingWebhook(iso(-5 * DAY))
    const { pass, open } = gate()
    const locked = gate()
    const tested = scene.db.inTenant(tenant, async (tx) => {
      await shareWebhook(tx, webhook.id)
      locked.open()
      await pass
      await resetCircuit(tx, webhook.id, iso(), 'same')
    })
    await locked.pass
    const late = failing('failing')
    await until('it waits', async () => {
      const [waiting] = await scene.database.sql(
        `select from pg_locks where not granted
           and pid in (select pid from pg_stat_activity where datname = current_database())`,
      )
      return waiting
    })
    open()
    await Promise.all([tested, late])
    expect(await rowOf(webhook)).toMatchObject({ is_active: true })
  })
})
