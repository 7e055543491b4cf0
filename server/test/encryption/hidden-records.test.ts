/** A rotation also covers hidden records, which may become visible again. They must then be decryptable. */
import { beforeAll, describe, expect, test } from 'vitest'
import { SEALED } from '../../src/open-features.ts'
import { furnishMessenger, furnishPatient, furnishPayment } from '../isolation/furnish.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { signInAs } from '../support/people.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { openService, type Service } from '../support/service.ts'
import { clinicOn } from '../webhooks/clinic.ts'
import { openRotations } from './scene.ts'

interface Furnished {
  clinic: Clinic
  patientId: number
  notificationId: number
  /** The TOTP secret of a user whom the test blocks later. */
  secret: string
  webhookId: number
}

const [OLD, NEW] = ['the secret of yesterday', 'the secret of today']

let service: Service
let root: Person
let receiver: Receiver
let there: Furnished
let gone: Furnished

beforeAll(async () => {
  service = await openService({ background: ['encryption', 'jobs', 'payments', 'webhooks'] })
  root = await superadmin(service)
  receiver = await openReceiver({ clock: service.clock })
  there = await furnish('there')
  gone = await furnish('gone')
  const deleted = await asRoot('DELETE', `/api/admin/tenants/${gone.clinic.id}`)
  expect(deleted.status).toBe(204)
  const rotations = await openRotations(service)
  await rotations.begin()
  expect(await rotations.until('completed')).toMatchObject({ records_failed: 0 })
})

const asRoot = (method: string, path: string, body?: object) =>
  service.call(method, path, { token: root.token, body })

/** Adds data to every encrypted table, then deletes the patient and blocks the user. */
async function furnish(subdomain: string): Promise<Furnished> {
  const clinic = await makeClinic(service, root, subdomain)
  const { auditor, nurse, admin } = clinic.people
  const { token } = auditor
  const enrol = (step: string, body: object) =>
    service.call('POST', `/api/auth/totp/${step}`, { token, body })
  const { secret } = (await enrol('setup', { password: auditor.password })).body
  expect((await enrol('enable', { code: codeOf(service, secret) })).status).toBe(200)
  await furnishMessenger(service, nurse)
  const { patientId } = await furnishPatient(service, clinic)
  const { notificationId } = await furnishPayment(service, clinic)
  const hooks = clinicOn(service, clinic)
  const { id: webhookId } = await hooks.register({
    url: receiver.url,
    events: ['webhook.test'],
    secret: OLD,
  })
  await hooks.call('PUT', `/${webhookId}`, { body: { secret: NEW } })
  const byAdmin = async (method: string, path: string) => {
    const { status } = await service.call(method, path, { token: admin.token })
    expect([200, 204]).toContain(status)
  }
  await byAdmin('DELETE', `/api/patients/${patientId}`)
  await byAdmin('POST', `/api/admin/users/${auditor.id}/block`)
  return { clinic, patientId, notificationId, secret, webhookId }
}

test('every encrypted table has rows, and each row names a current key', async () => {
  for (const { table } of SEALED) {
    const keys = await service.database.sql<{ tenant: number; retired: unknown }>(
      `select distinct k.tenant_id as tenant, k.retired_at as retired
       from ${table} t join data_keys k on k.id = t.data_key_id`,
    )
    const tenants = keys.map(({ tenant }) => tenant)
    expect(tenants, table).toEqual(expect.arrayContaining([there.clinic.id, gone.clinic.id]))
    for (const { retired } of keys) expect(retired, table).toBeNull()
  }
})

describe.each(['active', 'deleted'] as const)(
  'after a rotation, the records of a clinic that was %s',
  (which) => {
    let of: Furnished
    let token: string
    const call = (method: string, path: string, body?: object) =>
      service.call(method, path, { token, body })

    beforeAll(async () => {
      of = which === 'active' ? there : gone
      if (which === 'deleted') await service.app.features.tenants.service.restore(of.clinic.id)
      const { email, password } = of.clinic.people.admin
      const { subdomain } = of.clinic
      token = (await signInAs(service, { email, password, subdomain })).token
    })

    test('include a deleted patient who can be restored, read and found', async () => {
      expect((await call('POST', `/api/patients/${of.patientId}/restore`)).status).toBe(200)
      const full_name = `Paula of ${of.clinic.subdomain}`
      const read = await call('GET', `/api/patients/${of.patientId}`)
      expect(read).toMatchObject({ status: 200, body: { full_name } })
      const found = await call('POST', '/api/patients/search', { search: full_name })
      expect(found.body.items).toMatchObject([{ id: of.patientId }])
      const { body } = await call('GET', `/api/patients/${of.patientId}/accesses`)
      const reasons = body.items.flatMap((one: any) => one.grant?.reason ?? [])
      expect(reasons).toContain(`a reason of ${of.clinic.subdomain}`)
    })

    test('include a user who can be unblocked and sign in with a second factor', async () => {
      const { auditor } = of.clinic.people
      expect((await call('POST', `/api/admin/users/${auditor.id}/unblock`)).status).toBe(200)
      // Uses the next code, because the code from the enrolment cannot be used again.
      const body = {
        email: auditor.email,
        password: auditor.password,
        subdomain: of.clinic.subdomain,
        totp_code: codeOf(service, of.secret, 1),
      }
      expect((await service.call('POST', '/api/auth/login', { body })).status).toBe(200)
    })

    test('include webhooks that sign with the current and the previous secret', async () => {
      const sent = await call('POST', `/api/webhooks/${of.webhookId}/test`)
      expect(sent.body).toMatchObject({ delivered: true })
      const message = receiver.received.slice(-1)
      for (const secret of [OLD, NEW])
        expect(receiver.verifyWith(secret, message)).toMatchObject([{ type: 'webhook.test' }])
    })

    test('include payment notifications and linked chats that can be decrypted', async () => {
      const notification = await call(
        'GET',
        `/api/admin/payment-notifications/${of.notificationId}`,
      )
      expect(JSON.stringify(notification.body)).toContain(`${of.clinic.subdomain}-`)
      const { email, password } = of.clinic.people.nurse
      const { subdomain } = of.clinic
      const { token } = await signInAs(service, { email, password, subdomain })
      const status = await service.call('GET', '/api/messenger/status', { token })
      expect(status.body).toMatchObject({ linked: true })
    })
  },
)
