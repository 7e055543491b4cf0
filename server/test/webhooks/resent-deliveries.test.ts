/** Deliveries that an operation causes: replays, manual retries, and deliveries that waited for an inactive webhook. */
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { HOUR } from '../../src/lib/clock.ts'
import { gate } from '../sessions/scopes.ts'
import { fresh } from '../sessions/users.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic
let receiver: Receiver
const SECRET = 'the secret of the receiver'

beforeAll(async () => {
  at = await openClinic({ role: 'all' })
})

beforeEach(async () => {
  receiver = await openReceiver({ clock: at.service.clock })
})

const register = () => at.register({ url: receiver.url, events: ['department.*'], secret: SECRET })
const idsOf = (messages = receiver.received) => messages.map(({ id }) => id).sort()

/** Creates a department, which causes an event. Returns its name. */
async function anEvent(): Promise<string> {
  const name = fresh('Ward')
  const { token } = at.clinic.people.admin
  const options = { token, body: { name } }
  expect((await at.service.call('POST', '/api/admin/departments', options)).status).toBe(201)
  return name
}

const arrived = (count: number) =>
  until(`${count} messages arrive`, () => receiver.received.length >= count || undefined)

test('a replay sends earlier deliveries, and events from before the webhook existed, with the same message IDs', async () => {
  const before = await anEvent()
  const { id } = await register()
  await anEvent()
  await arrived(1)
  const [first] = receiver.received
  const list = () => at.call('GET', `/${id}/deliveries`, { query: { status: 'delivered' } })
  const allWritten = (count: number) =>
    until('all are written down', async () => {
      const { body } = await list()
      return body.total === count ? body.items : undefined
    })
  await allWritten(1)
  const since = new Date(at.service.clock.now() - HOUR).toISOString()
  await at.call('POST', `/${id}/replay`, { body: { since } })
  // The events are the clinic's first department, the one just created, and the one that was already delivered.
  await arrived(4)
  const replayed = receiver.received.slice(1)
  expect(replayed).toHaveLength(3)
  expect(new Set(idsOf(replayed)).size).toBe(3)
  expect(replayed.find((message) => message.id === first?.id)?.body).toBe(first?.body)
  const names = receiver.verifyWith(SECRET).map(({ data }) => data.changes.after.name)
  expect(names).toContain('Surgery')
  expect(names).toContain(before)
  const items = await allWritten(3)
  expect(items.map((one: { message_id: string }) => one.message_id).sort()).toEqual(idsOf(replayed))
})

/** Waits until the latest delivery has these `fields`. */
const written = (id: number, fields: { status: string; attempts_count: number }) =>
  until(`a delivery is ${fields.status}`, async () => {
    const [latest] = (await at.call('GET', `/${id}/deliveries`)).body.items
    expect(latest).toMatchObject(fields)
    return latest
  })

test('a manually retried delivery is sent immediately, and its number of attempts continues', async () => {
  const { id } = await register()
  receiver.answerWith((_request, index) => ({ status: index === 0 ? 400 : 200 }))
  await at.call('POST', `/${id}/test`)
  const { items } = (await at.call('GET', `/${id}/deliveries`)).body
  expect(items).toMatchObject([{ status: 'failed' }])
  await at.call('POST', `/${id}/deliveries/${items[0].id}/retry`)
  await arrived(2)
  const [first, second] = receiver.received
  expect([second?.id, second?.body]).toEqual([first?.id, first?.body])
  receiver.verifyWith(SECRET)
  const delivery = await written(id, { status: 'delivered', attempts_count: 2 })
  expect(delivery).toMatchObject({
    attempts: [
      { number: 1, status_code: 400 },
      { number: 2, status_code: 200 },
    ],
  })
})

test('held deliveries are sent when their webhook becomes active again', async () => {
  const { id } = await register()
  await at.call('PUT', `/${id}`, { body: { is_active: false } })
  await anEvent()
  await until('it is held', async () => {
    const { body } = await at.call('GET', `/${id}/deliveries`, { query: { status: 'held' } })
    return body.total === 1 ? true : undefined
  })
  expect(receiver.received).toEqual([])
  await at.call('PUT', `/${id}`, { body: { is_active: true } })
  await arrived(1)
  receiver.verifyWith(SECRET)
})

const afterAnHour = () => ({ status: 503, headers: { 'retry-after': '3600' } })

test('failed deliveries are sent to a new URL of the webhook immediately, even before their retry time', async () => {
  const other = await openReceiver({ clock: at.service.clock })
  const { id } = await register()
  receiver.answerWith(afterAnHour)
  await anEvent()
  await written(id, { status: 'pending', attempts_count: 1 })
  await at.call('PUT', `/${id}`, { body: { url: other.url } })
  await until('it goes there', () => other.received.length >= 1 || undefined)
  other.verifyWith(SECRET)
  expect(idsOf(other.received)).toEqual(idsOf())
})

test('deliveries that wait for their next attempt are sent after an accepted test, although the receiver has already recovered', async () => {
  const { id } = await register()
  receiver.answerWith(afterAnHour)
  await anEvent()
  await written(id, { status: 'pending', attempts_count: 1 })
  const [waiting] = receiver.received
  receiver.answerWith(() => ({ status: 200 }))
  await anEvent()
  const failingSince = async () => (await at.call('GET', `/${id}`)).body.failing_since
  const latest = await written(id, { status: 'pending', attempts_count: 0 })
  await at.call('POST', `/${id}/deliveries/${latest.id}/retry`)
  await until(
    'the receiver has recovered',
    async () => (await failingSince()) === null || undefined,
  )
  const copies = () => receiver.received.filter((message) => message.id === waiting?.id).length
  expect(copies()).toBe(1)
  expect((await at.call('POST', `/${id}/test`)).body.delivered).toBe(true)
  await until('the waiting delivery is sent', () => copies() === 2 || undefined)
})

test('failed deliveries are sent as soon as their webhook becomes active again', async () => {
  const { id } = await register()
  receiver.answerWith((_request, index) => (index === 0 ? { status: 410 } : { status: 200 }))
  await anEvent()
  await until('the receiver is gone', async () => {
    const [webhook] = (await at.call('GET', '')).body.filter((one: { id: number }) => one.id === id)
    return webhook.disabled_reason === 'gone' || undefined
  })
  await at.call('PUT', `/${id}`, { body: { is_active: true } })
  await written(id, { status: 'delivered', attempts_count: 2 })
  receiver.verifyWith(SECRET)
})

test.each([
  ['set together with the activation', (url: string) => [{ url, is_active: true }]],
  ['set before the activation', (url: string) => [{ url }, { is_active: true }]],
])(
  'held deliveries of a webhook that was deactivated as gone are sent to its new URL, %s',
  async (_how, steps) => {
    const other = await openReceiver({ clock: at.service.clock })
    const { id } = await register()
    receiver.answerWith(() => ({ status: 410, headers: { 'retry-after': '3600' } }))
    await anEvent()
    await queueIs(id, "webhook_id in (select id from webhooks where disabled_reason = 'gone')")
    await written(id, { status: 'held', attempts_count: 1 })
    for (const body of steps(other.url)) await at.call('PUT', `/${id}`, { body })
    await written(id, { status: 'delivered', attempts_count: 2 })
    expect(idsOf(other.received)).toEqual(idsOf())
  },
)

/** Waits until the webhook's queue meets the condition. */
const queueIs = (id: number, condition: string) =>
  until(`its queue: ${condition}`, async () => {
    const [queue] = await at.service.database.sql(
      `select from webhook_queues where webhook_id = $1 and ${condition}`,
      [id],
    )
    return queue && true
  })
const PAUSED = 'paused_until > now() and leased_by is null'

test('a manual retry does not wait for the pause that the receiver requested', async () => {
  const { id } = await register()
  receiver.answerWith((_request, index) => (index === 0 ? afterAnHour() : { status: 200 }))
  await anEvent()
  const delivery = await written(id, { status: 'pending', attempts_count: 1 })
  await queueIs(id, PAUSED)
  await at.call('POST', `/${id}/deliveries/${delivery.id}/retry`)
  await written(id, { status: 'delivered', attempts_count: 2 })
})

test('a manually retried delivery is the only message to a receiver that is down', async () => {
  const { id } = await register()
  receiver.answerWith(afterAnHour)
  await anEvent()
  const first = await written(id, { status: 'pending', attempts_count: 1 })
  await queueIs(id, PAUSED)
  for (let waiting = 0; waiting < 2; waiting += 1) await anEvent()
  await until('two more wait', async () => {
    const { total } = (await at.call('GET', `/${id}/deliveries`)).body
    return total === 3 || undefined
  })
  await at.service.database.sql('update webhook_queues set slots = 1 where webhook_id = $1', [id])
  const { body } = await at.call('POST', `/${id}/deliveries/${first.id}/retry`)
  await arrived(2)
  await queueIs(id, PAUSED)
  expect(idsOf()).toEqual([first.message_id, first.message_id])
  const { items } = (await at.call('GET', `/${id}/deliveries`)).body
  expect(items.every((one: any) => one.next_attempt_at > body.next_attempt_at)).toBe(true)
})

test('a manual retry is sent before deliveries that were loaded in advance', async () => {
  const { id } = await register()
  await at.call('PUT', `/${id}`, { body: { is_active: false } })
  for (let count = 0; count < 12; count += 1) await anEvent()
  const [latest] = await until('all are held', async () => {
    const { items } = (await at.call('GET', `/${id}/deliveries`)).body
    return items.length === 12 ? items : undefined
  })
  const [first, others] = [gate(), gate()]
  receiver.answerWith(async (_request, index) => {
    await (index === 0 ? first : others).pass
    return { status: 200 }
  })
  await at.call('PUT', `/${id}`, { body: { is_active: true } })
  // Waits for four messages, the maximum that may be in flight at a time.
  await arrived(4)
  await at.call('POST', `/${id}/deliveries/${latest.id}/retry`)
  first.open()
  await arrived(5)
  expect(receiver.received[4]?.id).toBe(latest.message_id)
})

test('a manual retry ends a pause that began while another delivery was being sent', async () => {
  const { id } = await register()
  const { pass, open } = gate()
  receiver.answerWith(async (_request, index) => {
    if (index === 0) await pass
    return index === 1 ? afterAnHour() : { status: 200 }
  })
  await anEvent()
  await arrived(1)
  await anEvent()
  const refused = await written(id, { status: 'pending', attempts_count: 1 })
  await queueIs(id, 'failing_since is not null and leased_by is not null')
  await at.call('POST', `/${id}/deliveries/${refused.id}/retry`)
  open()
  await written(id, { status: 'delivered', attempts_count: 2 })
  expect(receiver.received).toHaveLength(3)
})

test('a manual retry gets 404 if a cancelled replay removes the delivery', async () => {
  const { id } = await register()
  await anEvent()
  await arrived(1)
  const delivery = await written(id, { status: 'delivered', attempts_count: 1 })
  await until('nobody to hold the queue', async () => {
    const [queue] = await at.service.database.sql(
      'select from webhook_queues where webhook_id = $1 and leased_by is null',
      [id],
    )
    return queue
  })
  const held = gate()
  const locked = gate()
  const taken = at.service.app.db.acrossTenants(async (tx) => {
    await tx.db
      .selectFrom('webhook_queues')
      .select('webhook_id')
      .where('webhook_id', '=', id)
      .forUpdate()
      .execute()
    locked.open()
    await held.pass
    await tx.db.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute()
  })
  await locked.pass
  const retried = at.call('POST', `/${id}/deliveries/${delivery.id}/retry`)
  await until('the retry to wait', async () => {
    const [waiting] = await at.service.database.sql(
      `select from pg_locks where not granted and locktype in ('tuple', 'transactionid')
         and pid in (select pid from pg_stat_activity where datname = current_database())`,
    )
    return waiting
  })
  held.open()
  await taken
  expect(await retried).toMatchObject({ status: 404 })
})
