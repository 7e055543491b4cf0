/**
 * A key rotation is an event of the platform tenant. The platform's webhooks and chats are notified, and those of
 * clinics are not.
 */
import { beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from '../messenger/scene.ts'
import type { Person } from '../support/clinics.ts'
import { untilRead } from '../support/journal.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { openRotations } from './scene.ts'

const CHATS = { root: 8101, admin: 8102 }
let scene: Scene
let admin: Person
let platforms: Receiver
let clinics: Receiver

beforeAll(async () => {
  scene = await openScene({ background: ['encryption', 'jobs', 'messenger', 'webhooks'] })
  admin = scene.clinic.people.admin
  platforms = await openReceiver()
  clinics = await openReceiver()
  await subscribe(scene.root, CHATS.root, platforms)
  await subscribe(admin, CHATS.admin, clinics)
  const rotations = await openRotations(scene.service)
  expect((await rotations.begin()).status).toBe(200)
  await rotations.until('completed')
})

async function subscribe(person: Person, chat: number, { url }: Receiver): Promise<void> {
  const body = { url, events: ['encryption.*'] }
  const { token } = person
  const answer = await scene.service.call('POST', '/api/webhooks/register', { token, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  await scene.link(person, chat)
  await scene.call('POST', '/subscribe', person, { events: ['encryption.*'] })
}

const typesAt = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(body).type).sort()

test("a completed rotation notifies a superadmin's webhook and chat", async () => {
  const told = await until('the webhook to hear', () => {
    const types = typesAt(platforms)
    return types.length > 1 ? types : undefined
  })
  expect(told).toEqual(['encryption.rotation_completed', 'encryption.rotation_started'])
  const { tenant_id } = JSON.parse(platforms.received[0]?.body ?? '{}')
  expect(tenant_id).toBe(scene.root.tenant_id)
  await scene.heard(CHATS.root, 'A rotation of the encryption keys was started')
  await scene.heard(CHATS.root, 'The rotation of the encryption keys is complete')
})

test("a completed rotation does not notify a clinic, and is not in the clinic's audit log", async () => {
  const { service, bot } = scene
  for (const reader of ['webhooks', 'messenger']) await untilRead(service.database, reader)
  expect(typesAt(clinics)).toEqual([])
  expect(bot.textsTo(CHATS.admin).join('\n')).not.toContain('encryption keys')
  const entriesOf = async ({ token }: Person) => {
    const answer = await service.call('GET', '/api/admin/audit?resource_type=encryption', { token })
    expect(answer.status).toBe(200)
    return answer.body.items.map(({ action }: { action: string }) => action).sort()
  }
  expect(await entriesOf(admin)).toEqual([])
  expect(await entriesOf(scene.root)).toEqual([
    'encryption.rotation_completed',
    'encryption.rotation_started',
  ])
})
