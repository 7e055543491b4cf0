/**
 * Checks that the journal records the changes that a command makes to other records, and the users whom they concern.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { newPerson } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic
beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

const as = (who: Person) => (method: string, path: string, body?: object) =>
  service.call(method, path, { token: who.token, ...(body ? { body } : {}) })
const entriesOf = (requestId: unknown) =>
  service.database.sql(
    `select action, resource_id, changes from journal where request_id = $1 order by id`,
    [requestId],
  )

test('deleting a head of departments records the change of each department in the journal', async () => {
  const call = as(clinic.people.admin)
  const { body: doctor } = await call('POST', '/api/admin/users', {
    email: 'head@north.test',
    password: 'leaving-Horse-7',
    full_name: 'Head',
    role: 'doctor',
  })
  const headed = []
  for (const name of ['Oncology', 'Urology']) {
    const made = await call('POST', '/api/admin/departments', { name, head_doctor_id: doctor.id })
    headed.push(made.body.id)
  }
  const gone = await call('DELETE', `/api/admin/users/${doctor.id}`)
  expect(gone.status).toBe(204)
  const changes = { before: { head_doctor_id: doctor.id }, after: { head_doctor_id: null } }
  expect(await entriesOf(gone.headers['x-request-id'])).toMatchObject([
    ...headed.map((id) => ({ action: 'department.updated', resource_id: String(id), changes })),
    { action: 'user.deleted', resource_id: String(doctor.id) },
  ])
})

describe('a tenant that is renamed and deactivated in one request', () => {
  test('gets a journal entry for each of the two changes', async () => {
    const call = as(root)
    const { body: made } = await call('POST', '/api/admin/tenants', {
      name: 'Two',
      subdomain: 'two',
    })
    const path = `/api/admin/tenants/${made.id}`
    const changed = await call('PUT', path, { name: 'Three', is_active: false })
    expect(changed.status).toBe(200)
    expect(await entriesOf(changed.headers['x-request-id'])).toEqual([
      {
        action: 'tenant.deactivated',
        resource_id: String(made.id),
        changes: { before: { is_active: true }, after: { is_active: false } },
      },
      {
        action: 'tenant.updated',
        resource_id: String(made.id),
        changes: { before: { name: 'Two' }, after: { name: 'Three' } },
      },
    ])
    const again = await call('PUT', path, { name: 'Three', is_active: true })
    expect(await entriesOf(again.headers['x-request-id'])).toMatchObject([
      { action: 'tenant.activated' },
    ])
  })
})

test('a superadmin of a deactivated tenant can be removed if other superadmins remain', async () => {
  const call = as(root)
  const { body: made } = await call('POST', '/api/admin/tenants', { name: 'Off', subdomain: 'off' })
  const person = await newPerson(service, root, {
    tenantId: made.id,
    subdomain: 'off',
    role: 'superadmin',
  })
  await call('PUT', `/api/admin/tenants/${made.id}`, { is_active: false })
  const path = `/api/admin/users/${person.id}`
  expect((await call('POST', `${path}/block`)).status).toBe(200)
  expect((await call('POST', `${path}/unblock`)).status).toBe(200)
  expect((await call('PUT', `${path}/role`, { role: 'admin' })).status).toBe(200)
  expect((await call('DELETE', path)).status).toBe(204)
})
