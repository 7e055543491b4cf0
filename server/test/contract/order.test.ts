/** The order in which a call is judged: token, role, input, record, conflict (decisions §1). */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

const UNKNOWN = 999_999
/** A body that is wrong for every operation. */
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

describe('without a token', () => {
  test('wrong input, an unknown record and a broken body are all answered 401', async () => {
    for (const op of service.app.operations.filter((op) => op.access.roles)) {
      const broken = op.method === 'GET' ? {} : { payload: '{"broken' }
      const answer = await service.call(op.method, pathOf(op.path), broken)
      expect([op.id, answer.status]).toEqual([op.id, 401])
    }
  })

  test('a body over the limit is answered 401 as well', async () => {
    const payload = JSON.stringify({ name: 'x'.repeat(1024 * 1024) })
    expect(await service.call('POST', '/api/admin/tenants', { payload })).toMatchObject({
      status: 401,
    })
  })
})

describe('a role that may not call', () => {
  test('is told so before anything is said of the input', async () => {
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

describe('wrong input', () => {
  test('is told before it is looked whether the record is there', async () => {
    for (const path of [`departments/${UNKNOWN}`, `tenants/${UNKNOWN}`, `users/${UNKNOWN}/role`]) {
      const answer = await service.call('PUT', `/api/admin/${path}`, {
        token: root.token,
        body: WRONG,
      })
      expect([path, answer.status]).toEqual([path, 422])
    }
  })

  test('is told before a foreign tenant in the same input is', async () => {
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

  test('is told before the conflict that the rest of it would make', async () => {
    const answer = await service.call('POST', '/api/admin/tenants', {
      token: root.token,
      body: { name: '', subdomain: clinic.subdomain },
    })
    expect(answer.status).toBe(422)
  })

  test('in the path and in the body is told together', async () => {
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
])('of %s nothing is said where it is not known whose it would be', async (_, of, id, body) => {
  const { token } = clinic.people.admin
  const answer = await service.call('PUT', `/api/admin/${of}/none`, { token, body })
  expect(answer.status).toBe(422)
  expect(answer.body.detail.map((fault: { loc: string[] }) => fault.loc)).toEqual([['path', id]])
})

describe('a record', () => {
  test('that is not there is told before a conflict that its input would make', async () => {
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

  test('of another tenant is not there, whatever else is forbidden about the change', async () => {
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

  test('that is there and in conflict is told last', async () => {
    const { admin } = clinic.people
    const blocked = await service.call('POST', `/api/admin/users/${admin.id}/block`, {
      token: admin.token,
    })
    expect(blocked).toMatchObject({ status: 409, body: { code: 'own_account' } })
  })
})
