/** The rules for users and departments of a tenant: which roles may change which users. */
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Clinic,
  makeClinic,
  PASSWORD,
  type Person,
  signIn,
  superadmin,
} from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic
let other: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'people')
  other = await makeClinic(service, root, 'others')
})

const as = (token: string) => (method: string, path: string, body?: object) =>
  service.call(method, path, { token, body })
const admin = (method: string, path: string, body?: object) =>
  as(clinic.people.admin.token)(method, path, body)
const operator = (method: string, path: string, body?: object) => as(root.token)(method, path, body)
const newUser = (fields: object = {}) => ({
  email: `${crypto.randomUUID()}@people.test`,
  password: PASSWORD,
  full_name: 'New',
  role: 'nurse',
  ...fields,
})

describe('an e-mail address', () => {
  test('is unique in a tenant, ignoring case, but can be used again in other tenants', async () => {
    expect(
      await admin('POST', '/api/admin/users', newUser({ email: 'One@People.test' })),
    ).toMatchObject({
      status: 201,
    })
    const again = await admin('POST', '/api/admin/users', newUser({ email: 'oNE@pEOPLE.TEST' }))
    expect(again).toMatchObject({ status: 409, body: { code: 'email_taken' } })
    expect(again.body.detail).toContain('email')
    expect(
      await as(other.people.admin.token)(
        'POST',
        '/api/admin/users',
        newUser({ email: 'one@people.test' }),
      ),
    ).toMatchObject({ status: 201 })
  })

  test('is stored without surrounding spaces, like a name', async () => {
    const made = await admin(
      'POST',
      '/api/admin/users',
      newUser({ email: '  spaced@people.test ', full_name: ' \tSpaced Out ' }),
    )
    expect(made.body).toMatchObject({ email: 'spaced@people.test', full_name: 'Spaced Out' })
  })
})

describe('a department', () => {
  const departments = '/api/admin/departments'

  test('has a unique name in its tenant, ignoring case, but other tenants can use the name too', async () => {
    expect(await admin('POST', departments, { name: ' Oncology ' })).toMatchObject({
      status: 201,
      body: { name: 'Oncology', tenant_id: clinic.id, head_doctor_id: null },
    })
    expect(await admin('POST', departments, { name: 'oncology' })).toMatchObject({
      status: 409,
      body: { code: 'department_name_taken' },
    })
    expect(
      await admin('PUT', `${departments}/${clinic.departmentId}`, { name: 'ONCOLOGY' }),
    ).toMatchObject({ status: 409 })
    expect(
      await as(other.people.admin.token)('POST', departments, { name: 'Oncology' }),
    ).toMatchObject({ status: 201 })
  })

  test('accepts only an active doctor of its tenant as its head', async () => {
    const path = `${departments}/${clinic.departmentId}`
    const { doctor, nurse, admin: chief } = clinic.people
    const blocked = await admin('POST', '/api/admin/users', newUser({ role: 'doctor' }))
    await admin('POST', `/api/admin/users/${blocked.body.id}/block`)
    for (const head_doctor_id of [
      nurse.id,
      chief.id,
      blocked.body.id,
      other.people.doctor.id,
      root.id,
      999_999,
    ])
      for (const [method, at, rest] of [
        ['PUT', path, {}],
        ['POST', departments, { name: crypto.randomUUID() }],
      ] as const) {
        const answer = await admin(method, at, { ...rest, head_doctor_id })
        expect([method, head_doctor_id, answer.status]).toEqual([method, head_doctor_id, 422])
        expect(answer.body.detail).toMatchObject([
          { loc: ['body', 'head_doctor_id'], type: 'value_error' },
        ])
      }
    expect(await admin('PUT', path, { head_doctor_id: doctor.id })).toMatchObject({
      status: 200,
      body: { head_doctor_id: doctor.id },
    })
  })

  test('offers as heads the doctors of the tenant that a superadmin names', async () => {
    const body = { name: 'Far', tenant_id: other.id }
    expect(
      await operator('POST', departments, { ...body, head_doctor_id: clinic.people.doctor.id }),
    ).toMatchObject({ status: 422 })
    expect(
      await operator('POST', departments, { ...body, head_doctor_id: other.people.doctor.id }),
    ).toMatchObject({ status: 201 })
  })

  test('is removed from its users when the department is deleted', async () => {
    const made = await admin('POST', departments, { name: 'Short-lived' })
    const user = await admin('POST', '/api/admin/users', newUser({ department_id: made.body.id }))
    expect(user.body.department_id).toBe(made.body.id)
    expect(await admin('DELETE', `${departments}/${made.body.id}`)).toMatchObject({ status: 204 })
    expect(await admin('GET', `/api/admin/users/${user.body.id}`)).toMatchObject({
      status: 200,
      body: { department_id: null, is_active: true },
    })
  })

  test('rejects users of another tenant as members', async () => {
    const foreign = { department_id: other.departmentId }
    for (const answer of [
      await admin('POST', '/api/admin/users', newUser(foreign)),
      await admin('PUT', `/api/admin/users/${clinic.people.nurse.id}`, foreign),
      await operator('PUT', `/api/admin/users/${clinic.people.nurse.id}`, foreign),
    ]) {
      expect(answer.status).toBe(422)
      expect(answer.body.detail[0].loc).toEqual(['body', 'department_id'])
    }
  })
})

describe('a user', () => {
  test.each(['admin', 'superadmin'])(
    'with the role %s cannot block, delete or demote themselves',
    async (role) => {
      const self = role === 'admin' ? clinic.people.admin : root
      for (const [method, path, body] of [
        ['POST', 'block', undefined],
        ['DELETE', '', undefined],
        ['PUT', 'role', { role: 'nurse' }],
      ] as const) {
        const at = `/api/admin/users/${self.id}${path && `/${path}`}`
        const answer = await as(self.token)(method, at, body)
        expect(answer).toMatchObject({ status: 409, body: { code: 'own_account' } })
      }
      const me = await as(self.token)('GET', '/api/users/me')
      expect(me).toMatchObject({ status: 200, body: { role, is_active: true } })
    },
  )
})

describe('a superadmin', () => {
  test('cannot be changed by an admin, even in the same tenant', async () => {
    const made = await operator(
      'POST',
      '/api/admin/users',
      newUser({ role: 'superadmin', tenant_id: clinic.id }),
    )
    const path = `/api/admin/users/${made.body.id}`
    for (const [method, at, body] of [
      ['PUT', path, { full_name: 'Renamed' }],
      ['DELETE', path, undefined],
      ['POST', `${path}/block`, undefined],
      ['POST', `${path}/unblock`, undefined],
      ['PUT', `${path}/password`, { password: 'another-Secret-5' }],
      ['PUT', `${path}/role`, { role: 'nurse' }],
    ] as const)
      expect([at, await admin(method, at, body)]).toMatchObject([
        at,
        { status: 403, body: { code: 'superadmin_required' } },
      ])
    expect(await operator('GET', path)).toMatchObject({
      body: { full_name: 'New', role: 'superadmin', is_active: true },
    })
  })

  test('cannot be created by an admin, neither as a new user nor by promotion', async () => {
    for (const answer of [
      await admin('POST', '/api/admin/users', newUser({ role: 'superadmin' })),
      await admin('PUT', `/api/admin/users/${clinic.people.nurse.id}/role`, { role: 'superadmin' }),
    ])
      expect(answer).toMatchObject({ status: 403, body: { code: 'superadmin_required' } })
  })

  test('stays active if two superadmins demote each other concurrently', async () => {
    await service.database.sql(
      "update users set role = 'admin' where role = 'superadmin' and id <> $1",
      [root.id],
    )
    const email = 'second@platform.test'
    const made = await operator(
      'POST',
      '/api/admin/users',
      newUser({ role: 'superadmin', tenant_id: root.tenant_id, email }),
    )
    const second = await signIn(service, { email, password: PASSWORD, subdomain: 'platform' })
    const demote = (token: string, id: number) =>
      as(token)('PUT', `/api/admin/users/${id}/role`, { role: 'nurse' })
    const answers = await Promise.all([
      demote(root.token, made.body.id),
      demote(second.access_token, root.id),
    ])
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    const left = await service.database.sql(
      "select id from users where role = 'superadmin' and is_active",
    )
    expect(left).toHaveLength(1)
  })
})
