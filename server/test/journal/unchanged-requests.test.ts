/** Requests that change nothing create no journal entry, and therefore no webhook event. */
import { beforeAll, describe, expect, test } from 'vitest'
import { BUILT } from '../contract/operations.ts'
import { type Clinic, makeClinic, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let clinic: Clinic
let webhookId: number
let patientId: number

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'steady')
  const { token } = clinic.people.admin
  const body = { url: 'http://127.0.0.1:9/', events: ['*'] }
  webhookId = (await service.call('POST', '/api/webhooks/register', { token, body })).body.id
  const patient = { full_name: 'Paula Patient', department_id: clinic.departmentId }
  patientId = (await service.call('POST', '/api/patients', { token, body: patient })).body.id
})

/** Returns the entries about changes. Excludes the entries about shown records, which every read creates. */
const entries = async () =>
  (
    await service.database.sql<{ count: number }>(
      "select count(*) from journal where action <> 'patient.read'",
    )
  )[0]?.count

interface Put {
  who: 'admin' | 'doctor'
  ids?: () => Record<string, number>
  body: object
}

const ofNurse = () => ({ user_id: clinic.people.nurse.id })

/** Every PUT with the state of its record after the call. Setting a password always changes the record. */
const PUTS: Record<string, Put | 'sets a password'> = {
  '/api/admin/tenants/{tenant_id}': {
    who: 'admin',
    ids: () => ({ tenant_id: clinic.id }),
    body: { name: 'Renamed', settings: { listed: true, hours: { from: 8, to: 18 } } },
  },
  '/api/admin/departments/{dept_id}': {
    who: 'admin',
    ids: () => ({ dept_id: clinic.departmentId }),
    body: { name: 'Heart', head_doctor_id: null },
  },
  '/api/admin/users/{user_id}': {
    who: 'admin',
    ids: ofNurse,
    body: { full_name: 'Renamed', department_id: null, can_see_all_patients: true },
  },
  '/api/admin/users/{user_id}/role': { who: 'admin', ids: ofNurse, body: { role: 'receptionist' } },
  '/api/preferences': { who: 'doctor', body: { theme: 'light', settings: { rows: 50 } } },
  '/api/preferences/theme': { who: 'doctor', body: { theme: 'dark' } },
  '/api/webhooks/{webhook_id}': {
    who: 'admin',
    ids: () => ({ webhook_id: webhookId }),
    body: { url: 'http://127.0.0.1:9/other', events: ['user.*'], is_active: false },
  },
  '/api/patients/{patient_id}': {
    who: 'doctor',
    ids: () => ({ patient_id: patientId }),
    body: {
      full_name: 'Renamed',
      birth_date: '1980-01-31',
      identifiers: [{ system: 'insurer', value: 'A 1' }],
      allergies: ['Latex'],
      notes: null,
    },
  },
  '/api/admin/users/{user_id}/password': 'sets a password',
  '/api/users/me/password': 'sets a password',
}

describe('each PUT operation', () => {
  test('is in the table of this test', () => {
    const built = BUILT.filter(({ method }) => method === 'PUT').map(({ path }) => path)
    expect(Object.keys(PUTS).sort()).toEqual(built.sort())
  })

  test.each(
    Object.entries(PUTS).flatMap(([path, put]) => (typeof put === 'string' ? [] : [{ path, put }])),
  )('writes nothing if the same values are sent again: $path', async ({ path, put }) => {
    const ids = put.ids?.() ?? {}
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name) => String(ids[name]))
    const call = () =>
      service.call('PUT', url, { token: clinic.people[put.who].token, body: put.body })
    const before = await entries()
    const first = await call()
    expect(first.status).toBe(200)
    const written = await entries()
    expect(written).toBeGreaterThan(before ?? 0)
    const again = await call()
    expect([again.status, again.body]).toEqual([200, first.body])
    expect(await entries()).toBe(written)
  })
})

test('blocking a blocked user writes no journal entry, and ends remaining sessions', async () => {
  const { auditor, admin } = clinic.people
  const { email, password } = auditor
  const block = () =>
    service.call('POST', `/api/admin/users/${auditor.id}/block`, { token: admin.token })
  const { access_token: token } = await signIn(service, {
    email,
    password,
    subdomain: clinic.subdomain,
  })
  await block()
  const written = await entries()
  const { sql } = service.database
  await sql('update sessions set ended_at = null, end_reason = null where user_id = $1', [
    auditor.id,
  ])
  const { status, body } = await block()
  expect([status, body.is_active]).toEqual([200, false])
  expect(await entries()).toBe(written)
  expect(
    await sql('select 1 from sessions where user_id = $1 and ended_at is null', [auditor.id]),
  ).toEqual([])
  expect((await service.call('GET', '/api/users/me', { token })).status).toBe(401)
})
