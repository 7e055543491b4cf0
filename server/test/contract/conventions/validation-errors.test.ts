/**
 * A request gets all its validation errors at once, from every rule. The service validates before it looks up the
 * record.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { takesBytes } from '../../../src/platform/http/operation.ts'
import {
  type Clinic,
  makeClinic,
  type Person,
  superadmin,
  tokenFor,
} from '../../support/clinics.ts'
import { type Answer, type CallOptions, openService, type Service } from '../../support/service.ts'

/** An ID that no record has. */
const NOBODY = 999_999

let service: Service
let root: Person
let clinic: Clinic
let other: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'door')
  other = await makeClinic(service, root, 'next-door')
})

const placesOf = (answer: Answer): string[] =>
  answer.body.detail.map((fault: { loc: string[] }) => fault.loc.join('.')).toSorted()

/** Returns whether a repeated parameter is a list, whose items are validated separately. */
const isList = ({ type }: { type?: string }) => type === 'array'

test('an operation reports all invalid values and unknown parameters of path, query and body together', async () => {
  for (const op of service.app.operations) {
    const namesOf = (schema?: { properties: object }) => Object.keys(schema?.properties ?? {})
    const [query, body] = [namesOf(op.query), namesOf(op.body)]
    // A NUL is invalid as text, and also where a number, boolean, list or object is expected.
    const answer = await service.call(
      op.method,
      `${op.path.replaceAll(/\{\w+\}/g, '%00')}?${[...query, 'colour'].map((name) => `${name}=%00`).join('&')}`,
      {
        token: tokenFor(op, root, clinic),
        ...(op.body ? { body: Object.fromEntries(body.map((name) => [name, '\0'])) } : {}),
      },
    )
    // Payment providers may append any parameter.
    const isOpen = op.body && takesBytes(op)
    const expected = [
      ...(isOpen ? [] : ['query.colour']),
      ...namesOf(op.params).map((name) => `path.${name}`),
      ...query.map((name) => `query.${name}${isList(op.query.properties[name]) ? '.0' : ''}`),
      ...body.map((name) => `body.${name}`),
    ]
    if (expected.length === 0) continue
    expect([op.id, answer.status]).toEqual([op.id, 422])
    expect([op.id, [...new Set(placesOf(answer))]]).toEqual([op.id, expected.toSorted()])
  }
})

/** Violations of rules that a schema cannot express. Each is combined with a violation of a schema. */
const RULES: Record<
  string,
  () => { method: string; path: string; places: string[] } & CallOptions
> = {
  createTenant: () => ({
    method: 'POST',
    path: '/api/admin/tenants',
    token: root.token,
    body: {
      name: '',
      subdomain: 'spelling',
      settings: { reqire_totp: ['admin'], registrations: 1 },
    },
    places: ['body.name', 'body.settings.registrations', 'body.settings.reqire_totp'],
  }),
  updateTenant: () => ({
    method: 'PUT',
    path: `/api/admin/tenants/${clinic.id}`,
    token: root.token,
    body: { name: '', settings: { lists: false, theme: 'ours' } },
    places: ['body.name', 'body.settings.lists'],
  }),
  createUser: () => ({
    method: 'POST',
    path: '/api/admin/users',
    body: {
      email: 'someone@door.test',
      password: 'password123',
      full_name: 'Someone',
      role: 'wizard',
      department_id: NOBODY,
    },
    places: ['body.department_id', 'body.password', 'body.role'],
  }),
  updateUser: () => ({
    method: 'PUT',
    path: `/api/admin/users/${clinic.people.nurse.id}`,
    body: { full_name: '', department_id: NOBODY },
    places: ['body.department_id', 'body.full_name'],
  }),
  resetUserPassword: () => ({
    method: 'PUT',
    path: '/api/admin/users/none/password',
    body: { password: 'password123' },
    places: ['body.password', 'path.user_id'],
  }),
  changeOwnPassword: () => ({
    method: 'PUT',
    path: '/api/users/me/password',
    body: { current_password: 7, new_password: 'password123' },
    places: ['body.current_password', 'body.new_password'],
  }),
  createDepartment: () => ({
    method: 'POST',
    path: '/api/admin/departments',
    body: { name: '', head_doctor_id: clinic.people.nurse.id },
    places: ['body.head_doctor_id', 'body.name'],
  }),
  updateDepartment: () => ({
    method: 'PUT',
    path: `/api/admin/departments/${clinic.departmentId}`,
    body: { name: '', head_doctor_id: other.people.doctor.id },
    places: ['body.head_doctor_id', 'body.name'],
  }),
  register: () => ({
    method: 'POST',
    path: '/api/auth/register',
    body: {
      email: 'someone@door.test',
      password: 'password123',
      role: 'nurse',
      subdomain: clinic.subdomain,
      department_id: NOBODY,
    },
    places: ['body.department_id', 'body.full_name', 'body.password'],
  }),
  resetPassword: () => ({
    method: 'POST',
    path: '/api/auth/reset-password',
    body: { new_password: 'password123' },
    places: ['body.new_password', 'body.token'],
  }),
  createBackup: () => ({
    method: 'POST',
    path: '/api/admin/backup/create',
    body: { type: 'full', tenant_id: clinic.id },
    places: ['body.tenant_id'],
  }),
  restoreBackup: () => ({
    method: 'POST',
    path: '/api/admin/backup/restore',
    body: { backup_id: 7, type: 'full', tenant_id: clinic.id, confirm: false },
    places: ['body.backup_id', 'body.confirm', 'body.tenant_id'],
  }),
  listAuditEntries: () => ({
    method: 'GET',
    path: '/api/admin/audit',
    query: { from_date: '2026-11-21', to_date: '2026-11-20', limit: 0 },
    places: ['query.from_date', 'query.limit'],
  }),
  exportAuditEntries: () => ({
    method: 'GET',
    path: '/api/admin/audit/export',
    query: { format: 'xml', ip: 'nowhere', resource_id: '7' },
    places: ['query.format', 'query.ip', 'query.resource_id'],
  }),
  listJobs: () => ({
    method: 'GET',
    path: '/api/admin/jobs',
    query: { status: 'lost', kind: 'wish', limit: 0 },
    places: ['query.kind', 'query.limit', 'query.status'],
  }),
  getStats: () => ({
    method: 'GET',
    path: '/api/admin/stats',
    query: { series: 'wishes', bucket: 'hour', from: '2026-11-01', time_zone: 'Nowhere' },
    places: ['query.from', 'query.series.0', 'query.time_zone', 'query.to'],
  }),
  listUsers: () => ({
    method: 'GET',
    path: '/api/admin/users',
    query: { page: 501, role: 'wizard' },
    places: ['query.page', 'query.role'],
  }),
  listDepartments: () => ({
    method: 'GET',
    path: '/api/admin/departments',
    query: { page: 501, sort_by: 'size' },
    places: ['query.page', 'query.sort_by'],
  }),
  listPayments: () => ({
    method: 'GET',
    path: '/api/admin/payments',
    query: { from_date: '2026-11-21', to_date: '2026-11-20', status: 'paid' },
    places: ['query.from_date', 'query.status'],
  }),
  getPaymentStats: () => ({
    method: 'GET',
    path: '/api/admin/payments/stats',
    query: { from_date: '2026-11-21', to_date: '2026-11-20', tenant_id: 'none' },
    places: ['query.from_date', 'query.tenant_id'],
  }),
  listPaymentNotifications: () => ({
    method: 'GET',
    path: '/api/admin/payment-notifications',
    query: { page: 501, state: 'lost' },
    places: ['query.page', 'query.state'],
  }),
  listWebhookDeliveries: () => ({
    method: 'GET',
    path: '/api/webhooks/none/deliveries',
    query: { page: 501, from_date: '2026-11-21', to_date: '2026-11-20', event: 'nothing' },
    places: ['path.webhook_id', 'query.event', 'query.from_date', 'query.page'],
  }),
  listPatients: () => ({
    method: 'GET',
    path: '/api/patients',
    query: { page: 501, sort_by: 'full_name' },
    places: ['query.page', 'query.sort_by'],
  }),
  listPatientAccesses: () => ({
    method: 'GET',
    path: '/api/patients/none/accesses',
    query: { page: 501 },
    places: ['path.patient_id', 'query.page'],
  }),
  searchPatients: () => ({
    method: 'POST',
    path: '/api/patients/search',
    body: { page: 501, birth_date: '2026-02-30' },
    places: ['body.birth_date', 'body.page'],
  }),
  createPatient: () => ({
    method: 'POST',
    path: '/api/patients',
    body: {
      birth_date: '1849-12-31',
      department_id: other.departmentId,
      attending_doctor_id: clinic.people.nurse.id,
    },
    places: ['attending_doctor_id', 'birth_date', 'department_id', 'full_name'].map(
      (name) => `body.${name}`,
    ),
  }),
  updatePatient: () => ({
    method: 'PUT',
    path: '/api/patients/none',
    body: { identifiers: [{ system: '-', value: '1' }], department_id: NOBODY },
    places: ['body.department_id', 'body.identifiers.0.system', 'path.patient_id'],
  }),
  breakGlass: () => ({
    method: 'POST',
    path: '/api/patients/break-glass',
    token: clinic.people.nurse.token,
    body: { purpose: 'emergency', reason: 'too short' },
    places: ['body', 'body.reason'],
  }),
  invalidateCache: () => ({
    method: 'POST',
    path: '/api/admin/cache/invalidate',
    body: {},
    places: ['body'],
  }),
  linkMessenger: () => ({
    method: 'POST',
    path: '/api/messenger/link',
    body: { code: 'ABCD-10OI' },
    places: ['body.code'],
  }),
  subscribeMessenger: () => ({
    method: 'POST',
    path: '/api/messenger/subscribe',
    body: { events: ['user.created', 'nothing'] },
    places: ['body.events.1'],
  }),
  rotateKeys: () => ({
    method: 'POST',
    path: '/api/admin/encryption/rotate',
    token: root.token,
    body: { new_key: 'no key' },
    places: ['body.new_key'],
  }),
  registerWebhook: () => ({
    method: 'POST',
    path: '/api/webhooks/register',
    body: { url: 'ftp://receiver.test/', events: ['nothing'], secret: 'whsec_too-few-bytes' },
    places: ['body.events.0', 'body.secret', 'body.url'],
  }),
  updateWebhook: () => ({
    method: 'PUT',
    path: '/api/webhooks/none',
    body: { url: 'ftp://receiver.test/' },
    places: ['body.url', 'path.webhook_id'],
  }),
  previewWebhookReplay: () => ({
    method: 'GET',
    path: '/api/webhooks/none/replay',
    query: { since: '2001-01-01', until: '2000-01-01' },
    places: ['path.webhook_id', 'query.since', 'query.until'],
  }),
  replayWebhook: () => ({
    method: 'POST',
    path: '/api/webhooks/none/replay',
    body: { since: '2001-01-01', until: '2000-01-01' },
    places: ['body.since', 'body.until', 'path.webhook_id'],
  }),
}

describe('an input rule that a schema cannot express', () => {
  test.each(Object.keys(RULES))('is reported together with schema violations: %s', async (id) => {
    const { method, path, places, ...options } = RULES[id]?.() ?? {
      method: '',
      path: '',
      places: [],
    }
    const answer = await service.call(method, path, {
      token: clinic.people.admin.token,
      ...options,
    })
    expect(answer.status).toBe(422)
    expect(placesOf(answer)).toEqual(places)
  })

  test('has a test above in every operation that applies such a rule', () => {
    const ruled = service.app.operations.filter((op) => op.refine || op.checkReferences)
    expect(Object.keys(RULES).toSorted()).toEqual(ruled.map((op) => op.id).toSorted())
  })
})

describe('validation errors come before the lookup of the record:', () => {
  const wrong = {
    email: 'someone@door.test',
    password: 'password123',
    full_name: 'Someone',
    role: 'nurse',
  }
  const create = (body: object) =>
    service.call('POST', '/api/admin/users', { token: clinic.people.admin.token, body })

  test('a weak password is reported before a tenant of others', async () => {
    const answer = await create({ ...wrong, tenant_id: other.id })
    expect([answer.status, placesOf(answer)]).toEqual([422, ['body.password']])
  })

  test('a date range that ends before it starts is reported before a tenant of others', async () => {
    const query = { from_date: '2026-11-21', to_date: '2026-11-20', tenant_id: other.id }
    const { token } = clinic.people.admin
    const answer = await service.call('GET', '/api/admin/audit', { token, query })
    expect([answer.status, placesOf(answer)]).toEqual([422, ['query.from_date']])
  })

  test('an unknown department is reported before a role that only a superadmin may assign', async () => {
    const user = { ...wrong, password: 'a-Fine-Secret-3', role: 'superadmin' }
    const answer = await create({ ...user, department_id: NOBODY })
    expect([answer.status, placesOf(answer)]).toEqual([422, ['body.department_id']])
    expect((await create(user)).body).toMatchObject({ code: 'superadmin_required' })
  })

  test('an unknown department is reported before a role that registration does not allow', async () => {
    const body = { ...wrong, password: 'a-Fine-Secret-3', role: 'auditor', subdomain: 'door' }
    const register = (more: object) =>
      service.call('POST', '/api/auth/register', { body: { ...body, ...more } })
    const answer = await register({ department_id: NOBODY })
    expect([answer.status, placesOf(answer)]).toEqual([422, ['body.department_id']])
    expect((await register({})).body).toMatchObject({ code: 'role_not_offered' })
  })
})

describe('a validation error reveals nothing', () => {
  test('about a department in an unknown tenant or a tenant of others', async () => {
    const { token } = clinic.people.admin
    const body = { name: 'Fine', head_doctor_id: other.people.doctor.id, tenant_id: other.id }
    const foreign = await service.call('POST', '/api/admin/departments', { token, body })
    expect(foreign.body).toMatchObject({ code: 'other_tenant' })
    const nowhere = await service.call('POST', '/api/admin/departments', {
      token: root.token,
      body: { ...body, tenant_id: NOBODY },
    })
    expect(nowhere.status).toBe(404)
  })

  test('about a department if the tenant is invalid', async () => {
    const answer = await service.call('POST', '/api/admin/users', {
      token: root.token,
      body: { tenant_id: 'door', department_id: clinic.departmentId },
    })
    expect(placesOf(answer)).toEqual(
      ['email', 'full_name', 'role', 'tenant_id'].map((name) => `body.${name}`),
    )
  })
})
