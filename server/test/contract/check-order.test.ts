/** The order in which the service checks a call: token, role, input, record, conflict (decisions §1). */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

const UNKNOWN = 999_999
/** A body that is invalid for every operation. */
const WRONG = { name: 7, role: 7, password: 7, email: 7, theme: 7, current_password: 7 }

let service: Service
let root: Person
let clinic: Clinic
let other: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'first')
  other = await makeClinic(service, root, 'second')
})

const pathOf = (path: string) => path.replaceAll(/\{\w+\}/g, 'wrong')

describe('a call without a token', () => {
  test('gets 401 whether its input is invalid, malformed or names an unknown record', async () => {
    for (const op of service.app.operations.filter((op) => op.access.roles)) {
      const broken = op.method === 'GET' ? {} : { payload: '{"broken' }
      const answer = await service.call(op.method, pathOf(op.path), broken)
      expect([op.id, answer.status]).toEqual([op.id, 401])
    }
  })

  test('gets 401 even if its body exceeds the limit', async () => {
    const payload = JSON.stringify({ name: 'x'.repeat(1024 * 1024) })
    expect(await service.call('POST', '/api/admin/tenants', { payload })).toMatchObject({
      status: 401,
    })
  })
})

describe('the refusal of a role without access to the operation', () => {
  test('comes before any error in the input', async () => {
    const { nurse } = clinic.people
    for (const op of service.app.operations) {
      if (!op.access.roles || op.access.roles.includes('nurse')) continue
      const answer = await service.call(op.method, pathOf(op.path), {
        token: nurse.token,
        ...(op.method === 'GET' ? {} : { payload: '{"broken' }),
      })
      expect([op.id, answer.status, answer.body.code]).toEqual([op.id, 403, 'role_required'])
    }
  })
})

describe('invalid input', () => {
  test('is reported before the record is looked up', async () => {
    for (const path of [`departments/${UNKNOWN}`, `tenants/${UNKNOWN}`, `users/${UNKNOWN}/role`]) {
      const answer = await service.call('PUT', `/api/admin/${path}`, {
        token: root.token,
        body: WRONG,
      })
      expect([path, answer.status]).toEqual([path, 422])
    }
  })

  test('is reported before a tenant of others in the same input', async () => {
    const { token } = clinic.people.admin
    const listed = await service.call('GET', '/api/admin/users', {
      token,
      query: { tenant_id: other.id, page: 0 },
    })
    expect(listed.status).toBe(422)
    const created = await service.call('POST', '/api/admin/departments', {
      token,
      body: { tenant_id: other.id, name: '' },
    })
    expect(created.status).toBe(422)
  })

  test('is reported before a conflict that other fields would cause', async () => {
    const answer = await service.call('POST', '/api/admin/tenants', {
      token: root.token,
      body: { name: '', subdomain: clinic.subdomain },
    })
    expect(answer.status).toBe(422)
  })

  test('is reported for the path and the body together', async () => {
    const answer = await service.call('PUT', '/api/admin/users/none/role', {
      token: root.token,
      body: { role: 'wizard' },
    })
    expect(answer.status).toBe(422)
    expect(answer.body.detail.map((fault: { loc: string[] }) => fault.loc)).toEqual([
      ['path', 'user_id'],
      ['body', 'role'],
    ])
  })
})

test.each([
  ['a department', 'users', 'user_id', { department_id: UNKNOWN }],
  ['a head doctor', 'departments', 'dept_id', { head_doctor_id: UNKNOWN }],
])('an invalid ID in the path reveals nothing about %s', async (_, of, id, body) => {
  const { token } = clinic.people.admin
  const answer = await service.call('PUT', `/api/admin/${of}/none`, { token, body })
  expect(answer.status).toBe(422)
  expect(answer.body.detail.map((fault: { loc: string[] }) => fault.loc)).toEqual([['path', id]])
})

describe('the record that the path names', () => {
  test('is reported as missing before a conflict of the input', async () => {
    const { admin } = clinic.people
    await service.call('POST', '/api/admin/departments', {
      token: admin.token,
      body: { name: 'Taken' },
    })
    const answer = await service.call('PUT', `/api/admin/departments/${UNKNOWN}`, {
      token: admin.token,
      body: { name: 'Taken' },
    })
    expect(answer.status).toBe(404)
  })

  test('gets 404 if it belongs to another tenant, even if the change is also forbidden for other reasons', async () => {
    const { token } = clinic.people.admin
    const tenant = await service.call('PUT', `/api/admin/tenants/${other.id}`, {
      token,
      body: { is_active: false },
    })
    expect(tenant.status).toBe(404)
    const { id } = other.people.nurse
    const role = await service.call('PUT', `/api/admin/users/${id}/role`, {
      token,
      body: { role: 'superadmin' },
    })
    expect(role.status).toBe(404)
  })

  test('has conflicts with the input reported last', async () => {
    const { admin } = clinic.people
    const blocked = await service.call('POST', `/api/admin/users/${admin.id}/block`, {
      token: admin.token,
    })
    expect(blocked).toMatchObject({ status: 409, body: { code: 'own_account' } })
  })
})
