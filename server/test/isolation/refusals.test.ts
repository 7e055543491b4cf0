/**
 * Refused calls and their journal entries, for blocked users who sign in and for auditors who call operations outside
 * their lists.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic
let other: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'refusing')
  other = await makeClinic(service, root, 'elsewhere')
})

const login = (email: string, password: string, headers = {}) =>
  service.call('POST', '/api/auth/login', {
    body: { email, password, subdomain: clinic.subdomain },
    headers,
  })
/** Returns the journal entries of a call. Reading the audit log first writes the pending refusals to it. */
const entriesOf = async ({ headers }: Answer) => {
  await service.call('GET', '/api/admin/audit', { token: root.token })
  return service.database.sql(
    `select action, tenant_id, user_id, user_email, resource_type, resource_id, changes
     from journal where request_id = $1`,
    [headers['x-request-id']],
  )
}

describe('a blocked user', () => {
  test('learns about the block only with the correct password, and is signed out immediately', async () => {
    const { nurse, admin } = clinic.people
    const path = `/api/admin/users/${nurse.id}`
    const blocked = await service.call('POST', `${path}/block`, { token: admin.token })
    expect(blocked).toMatchObject({ status: 200, body: { is_active: false } })
    expect(await service.call('GET', '/api/users/me', { token: nurse.token })).toMatchObject({
      status: 401,
    })
    const wrong = await login(nurse.email, 'wrong')
    expect(wrong).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    expect(wrong.body).toEqual((await login('unknown@refusing.test', 'wrong')).body)
    expect(await login(nurse.email, nurse.password)).toMatchObject({
      status: 403,
      body: { code: 'account_blocked' },
    })
    await service.call('POST', `${path}/unblock`, { token: admin.token })
    expect(await login(nurse.email, nurse.password)).toMatchObject({ status: 200 })
  })
})

describe('an auditor', () => {
  const READ: Record<string, number> = {
    listAuditEntries: 200,
    listAuditActions: 200,
    listAuditHeads: 200,
    listAuditVerifications: 200,
    verifyAuditLogs: 202,
    proveAuditEntry: 404,
    getAuditCheckpoint: 404,
    getAuditTile: 422,
    exportAuditEntries: 200,
    listDepartments: 200,
    listPayments: 200,
    getPaymentStats: 200,
    listPaymentNotifications: 200,
    getDepartment: 200,
    getPayment: 404,
    getTenant: 200,
    getUser: 200,
    listTenants: 200,
    listUsers: 200,
    // Needs no session, but a ticket.
    download: 404,
  }

  test('reads lists and records, verifies the audit log, and cannot call other admin operations', async () => {
    const { token, id } = clinic.people.auditor
    const ids: Record<string, number> = { user_id: id, dept_id: clinic.departmentId }
    for (const op of service.app.operations.filter((op) => op.path.startsWith('/api/admin/'))) {
      const path = op.path.replaceAll(/\{(\w+)\}/g, (_, name) => String(ids[name] ?? clinic.id))
      const { status } = await service.call(op.method, path, { token })
      expect([op.id, status]).toEqual([op.id, READ[op.id] ?? 403])
    }
  })

  test('can read only their own tenant', async () => {
    const { token } = clinic.people.auditor
    for (const kind of ['users', 'departments', 'audit']) {
      const { items } = (await service.call('GET', `/api/admin/${kind}?limit=100`, { token })).body
      expect(new Set(items.map((item: { tenant_id: number }) => item.tenant_id))).toEqual(
        new Set([clinic.id]),
      )
    }
  })
})

describe('a refused call', () => {
  test.each([
    [
      'for the role of the caller',
      'doctor',
      'GET',
      '/api/admin/users',
      undefined,
      'listUsers',
      'role_required',
    ],
    [
      'for the tenant in the request',
      'admin',
      'GET',
      '/api/admin/users?tenant_id=1',
      undefined,
      'listUsers',
      'other_tenant',
    ],
    [
      'for the content of the request',
      'admin',
      'POST',
      '/api/admin/users',
      { email: 'x@x.test', password: 'a-Fine-Secret-3', full_name: 'X', role: 'superadmin' },
      'createUser',
      'superadmin_required',
    ],
  ] as const)(
    'is journaled if it was refused %s',
    async (_why, role, method, path, body, operation, code) => {
      const person = clinic.people[role]
      const answer = await service.call(method, path, { token: person.token, body })
      expect(answer).toMatchObject({ status: 403, body: { code } })
      expect(await entriesOf(answer)).toEqual([
        {
          action: 'access.refused',
          tenant_id: clinic.id,
          user_id: person.id,
          user_email: person.email,
          resource_type: 'operation',
          resource_id: operation,
          changes: {
            code,
            count: 1,
            first_at: expect.any(String),
            last_at: expect.any(String),
          },
        },
      ])
    },
  )

  test("is in the audit log of the caller's tenant, not of the tenant in the request", async () => {
    const { admin } = clinic.people
    await service.call('GET', `/api/admin/users?tenant_id=${other.id}`, { token: admin.token })
    const totalFor = async (token: string) => {
      const query = { action: 'access.refused', user_id: admin.id }
      return (await service.call('GET', '/api/admin/audit', { token, query })).body.total
    }
    expect(await totalFor(clinic.people.auditor.token)).toBeGreaterThan(0)
    expect(await totalFor(other.people.auditor.token)).toBe(0)
  })
})

describe('a failed sign-in', () => {
  test('is journaled with the account if there is one, and never with the password', async () => {
    const { doctor } = clinic.people
    const known = await login(doctor.email, 'not-the-Password-1')
    const unknown = await login('unknown@refusing.test', 'not-the-Password-1')
    const common = {
      action: 'auth.login_failed',
      tenant_id: clinic.id,
      resource_type: 'user',
      // The user is unknown, because the caller has not signed in.
      user_id: null,
      changes: { reason: 'invalid_credentials' },
    }
    expect(await entriesOf(known)).toEqual([
      { ...common, resource_id: String(doctor.id), user_email: doctor.email },
    ])
    expect(await entriesOf(unknown)).toEqual([
      { ...common, resource_id: null, user_email: 'unknown@refusing.test' },
    ])
    const [kept] = await service.database.sql<{ count: number }>(
      "select count(*) from journal j where j::text like '%not-the-Password%'",
    )
    expect(kept?.count).toBe(0)
  })

  test('is journaled without a tenant if a superadmin signs in with an unknown tenant', async () => {
    const answer = await service.call('POST', '/api/auth/login', {
      body: { email: 'a@b.test', password: 'wrong', subdomain: 'nowhere' },
    })
    expect(await entriesOf(answer)).toMatchObject([
      { action: 'auth.login_failed', tenant_id: null, user_email: 'a@b.test' },
    ])
  })

  test('is journaled without the typed address if that is malformed, because it may be the password', async () => {
    const answer = await service.call('POST', '/api/auth/login', {
      body: { email: 'correct-Horse-9', password: 'wrong', subdomain: 'nowhere' },
    })
    expect(answer.status).toBe(401)
    const entries = await entriesOf(answer)
    expect(entries).toMatchObject([{ action: 'auth.login_failed', user_email: null }])
    expect(JSON.stringify(entries)).not.toContain('correct-Horse')
  })
})
