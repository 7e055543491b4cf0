/**
 * The service selects the recipients of an event when it queues the event, and checks them again when it sends the
 * message.
 */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ownerClient } from '../../src/platform/db/connection.ts'
import { append, SYSTEM } from '../../src/platform/journal/index.ts'
import { makeClinic, type Person, signIn } from '../support/clinics.ts'
import { untilRead } from '../support/journal.ts'
import { happenTo, openScene, rests, type Scene } from './scene.ts'

let scene: Scene
let chats = 7000
const newChat = () => (chats += 1)
beforeAll(async () => {
  scene = await openScene()
})

const textsTo = (chat: number) => scene.bot.textsTo(chat).join('\n')
const subscribe = (person: Person, events: string[]) =>
  scene.call('POST', '/subscribe', person, { events })
const login = ({ email, password }: Person) =>
  signIn(scene.service, { email, password, subdomain: scene.clinic.subdomain })

async function administer(method: string, path: string, body?: object): Promise<void> {
  const answer = await scene.service.call(method, `/api/admin/users/${path}`, {
    token: scene.root.token,
    body,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
}

/** Waits until all events published so far have been queued. */
const judged = () => untilRead(scene.service.database, 'messenger')

/** Runs the work while the reader is paused, so that its events are queued together. */
async function unread(work: () => Promise<void>): Promise<void> {
  const holder = ownerClient(scene.service.database.address)
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query("begin; select from journal_consumers where consumer = 'messenger' for update")
  await work()
  await holder.query('commit')
}

/** Creates a separate clinic, which receives no events from other tests. */
async function freshClinic(): Promise<Scene['clinic']> {
  return makeClinic(scene.service, scene.root, `clinic-${newChat()}`)
}

/** Inserts a public event of the tenant without an actor. */
function happen(tenant_id: number, name: string): Promise<void> {
  return scene.service.app.db.inTenant(tenant_id, (tx) =>
    append(tx, SYSTEM, {
      action: 'department.created',
      tenant_id,
      resource_type: 'department',
      resource_id: 1,
      changes: { before: null, after: { name } },
    }),
  )
}

test('by default, a chat is notified of security events of its own account', async () => {
  const { doctor, admin, nurse } = scene.clinic.people
  const [own, others] = [newChat(), newChat()]
  await scene.link(doctor, own)
  await scene.link(admin, others)
  await login(nurse)
  await login(doctor)
  await scene.heard(own, 'Someone signed in to your account')
  await login(admin)
  await scene.heard(others, 'Someone signed in to your account')
  expect(textsTo(own) + textsTo(others)).not.toMatch(
    /account of nurse|signed in to the account of doctor/,
  )
  expect(textsTo(others)).not.toContain('doctor')
  expect((await scene.call('GET', '/status', doctor)).body.events).toContain('user.blocked')
})

test('an administrator who subscribes is notified of all public events of their own tenant only', async () => {
  const [own, other] = [await freshClinic(), await freshClinic()]
  const chat = newChat()
  await scene.link(own.people.admin, chat)
  await subscribe(own.people.admin, ['*'])
  await happen(other.id, 'Elsewhere')
  await administer('POST', `${own.people.nurse.id}/block`)
  await happen(own.id, 'Surgery')
  await scene.heard(chat, 'The department Surgery was created.')
  await scene.heard(
    chat,
    /The account of nurse of clinic-\d+ was blocked and signed out by the platform operator\./,
  )
  expect(textsTo(chat)).not.toContain('Elsewhere')
})

test('a chat gets no events from before it was linked, even if the service reads those events later', async () => {
  const { id, people } = await freshClinic()
  const chat = newChat()
  await subscribe(people.admin, ['*'])
  await unread(async () => {
    await happen(id, 'Before')
    await happenTo(scene, people.admin, 'user.password_changed')
    await scene.link(people.admin, chat)
  })
  await happen(id, 'Behind')
  await scene.heard(chat, 'The department Behind was created.')
  expect(textsTo(chat)).not.toMatch(/Before|password/)
})

test('messages still name a deleted user, in earlier events too', async () => {
  const { people } = await freshClinic()
  const chat = newChat()
  await scene.link(people.admin, chat)
  await subscribe(people.admin, ['*'])
  await unread(async () => {
    await administer('POST', `${people.nurse.id}/block`)
    await administer('DELETE', String(people.nurse.id))
  })
  await scene.heard(
    chat,
    /The account of nurse of clinic-\d+ was deleted by the platform operator\./,
  )
  expect(textsTo(chat)).toMatch(/The account of nurse of clinic-\d+ was blocked/)
})

test('a blocked user is notified of the block, and of nothing after it', async () => {
  const { people } = await freshClinic()
  const chat = newChat()
  await scene.link(people.nurse, chat)
  await subscribe(people.nurse, ['*'])
  await administer('POST', `${people.nurse.id}/block`)
  await scene.heard(chat, 'Your account was blocked')
  await administer('PUT', String(people.nurse.id), { full_name: 'Other Name' })
  await judged()
  await administer('POST', `${people.nurse.id}/unblock`)
  await scene.heard(chat, 'Your account was unblocked')
  expect(textsTo(chat)).not.toContain('was changed')
})

test('a superadmin is notified of the platform tenant’s public events, and of no clinic’s events', async () => {
  const clinic = await freshClinic()
  const chat = newChat()
  await scene.link(scene.root, chat)
  await subscribe(scene.root, ['*'])
  await happen(clinic.id, 'Elsewhere')
  await happen(scene.root.tenant_id, 'Operations')
  await scene.heard(chat, 'The department Operations was created.')
  expect(textsTo(chat)).not.toContain('Elsewhere')
})

test('a clinic’s administrators are notified of its deletion, even if it was deactivated', async () => {
  const { id, people } = await freshClinic()
  const chat = newChat()
  await scene.link(people.admin, chat)
  await subscribe(people.admin, ['*'])
  const tenant = (method: string, body?: object) =>
    scene.service.call(method, `/api/admin/tenants/${id}`, { token: scene.root.token, body })
  expect((await tenant('PUT', { is_active: false })).status).toBe(200)
  await scene.heard(chat, 'The clinic was deactivated')
  await happen(id, 'Surgery')
  await judged()
  expect((await tenant('DELETE')).status).toBeLessThan(300)
  await scene.heard(chat, 'The clinic was deleted')
  expect(textsTo(chat)).not.toContain('Surgery')
})

test('a former administrator is notified only of events of their own account', async () => {
  const { id, people } = await freshClinic()
  const chat = newChat()
  await scene.link(people.admin, chat)
  await subscribe(people.admin, ['*'])
  await administer('PUT', `${people.admin.id}/role`, { role: 'doctor' })
  await happen(id, 'Surgery')
  await administer('PUT', String(people.admin.id), { full_name: 'Other Name' })
  await scene.heard(chat, 'Your account was changed')
  expect(textsTo(chat)).not.toContain('Surgery')
})

test('a queued message is dropped if its recipient loses the required role', async () => {
  const { id, people } = await freshClinic()
  const chat = newChat()
  await scene.link(people.admin, chat)
  await subscribe(people.admin, ['*'])
  // The chat is throttled for a while, so its events are queued.
  scene.bot.chatAnswers(chat, { code: 429, description: 'Too Many Requests', retry_after: 60 })
  await happen(id, 'Surgery')
  const waiting = () =>
    scene.service.database.sql(
      `select from messenger_notices n join messenger_links l on l.id = n.link_id where l.user_id = $1`,
      [people.admin.id],
    )
  await expect.poll(async () => (await waiting()).length, { timeout: 20_000 }).toBe(1)
  await rests(scene, people.admin)
  await administer('PUT', `${people.admin.id}/role`, { role: 'doctor' })
  scene.bot.chatAnswers(chat)
  scene.service.clock.advance(61_000)
  await scene.heard(chat, 'was given the role doctor')
  expect(textsTo(chat)).not.toContain('Surgery')
})

describe('a chat subscription', () => {
  test('with no events is valid, and stays stored when the chat is unlinked', async () => {
    const clinic = await freshClinic()
    const { nurse } = clinic.people
    const { status, body } = await subscribe(nurse, [])
    expect([status, body.events, body.linked]).toEqual([200, [], false])
    const chat = newChat()
    await scene.link(nurse, chat)
    await administer('PUT', String(nurse.id), { full_name: 'First Name' })
    await subscribe(nurse, ['user.password_changed'])
    await administer('PUT', `${nurse.id}/password`, { password: 'a-Fine-Secret-8' })
    await scene.heard(chat, 'The password of your account was changed')
    expect(textsTo(chat)).not.toContain('Your account was changed')
  })

  test('to all events excludes refreshed tokens, unless the subscription names that event', async () => {
    const { people } = await freshClinic()
    const { doctor } = people
    const chat = newChat()
    await scene.link(doctor, chat)
    const refresh = async (refresh_token: string) =>
      (await scene.service.call('POST', '/api/auth/refresh', { body: { refresh_token } })).body
    await subscribe(doctor, ['*', 'auth.*'])
    const first = await refresh(doctor.refresh)
    await judged()
    await subscribe(doctor, ['auth.token_refreshed'])
    await refresh(first.refresh_token)
    await scene.heard(chat, 'A session of your account was renewed')
    const lines = textsTo(chat).match(/was renewed/g)
    expect(lines).toHaveLength(1)
  })

  test('with unknown or forbidden events is rejected, and the error lists the valid events', async () => {
    const { nurse, admin } = scene.clinic.people
    const { status, body } = await subscribe(nurse, ['user.*', 'tenant.updated', 'nothing.*'])
    expect(status).toBe(422)
    expect(body.detail.map(({ loc }: any) => loc)).toEqual([
      ['body', 'events', '1'],
      ['body', 'events', '2'],
    ])
    expect(body.detail[0].msg).toContain('auth.login')
    expect((await subscribe(admin, ['tenant.updated', 'payment.*'])).status).toBe(200)
    expect((await subscribe(admin, ['webhook.test'])).status).toBe(422)
    const many = Array.from({ length: 101 }, () => 'user.created')
    expect((await subscribe(admin, many)).status).toBe(422)
  })
})

test('a message contains the exact amount of a payment, and nothing about a patient but the number', async () => {
  const { id, people } = await freshClinic()
  const chat = newChat()
  await scene.link(people.admin, chat)
  await subscribe(people.admin, ['*'])
  const after = { status: 'succeeded', amount: 12_345, amount_refunded: 0, currency: 'KWD' }
  const entry = { tenant_id: id, resource_id: 81, changes: { before: null, after } }
  await scene.service.app.db.inTenant(id, async (tx) => {
    await append(tx, SYSTEM, { ...entry, action: 'payment.succeeded', resource_type: 'payment' })
    await append(tx, SYSTEM, {
      ...entry,
      action: 'patient.updated',
      resource_type: 'patient',
      changes: { after: { full_name: 'Paula Patient' } },
    })
  })
  await scene.heard(chat, 'Payment 81 of 12.345 KWD was completed.')
  await scene.heard(chat, 'Patient 81 was changed.')
  expect(textsTo(chat)).not.toContain('Paula')
})
