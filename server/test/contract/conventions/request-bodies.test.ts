/**
 * Request bodies must be JSON with strict types. The service validates the whole body, and stores no unknown fields.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../../support/clinics.ts'
import { type Answer, openService, type Service } from '../../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'bodies')
})

const post = (path: string, body: unknown) =>
  service.call('POST', path, { token: root.token, body })
const send = (payload: string | Buffer, headers: Record<string, string> = {}) =>
  service.call('PUT', '/api/preferences/theme', { token: root.token, payload, headers })

/** Returns the validation errors as `place: type`. */
const faultsOf = (answer: Answer) =>
  answer.body.detail.map(
    (fault: { loc: string[]; type: string }) => `${fault.loc.join('.')}: ${fault.type}`,
  )

const user = (fields: object) => ({
  email: 'someone@bodies.test',
  password: 'a-Fine-Secret-3',
  full_name: 'Someone',
  role: 'nurse',
  tenant_id: clinic.id,
  ...fields,
})

describe('the validation errors of a body', () => {
  test('are reported together, each with its location, a message and a type', async () => {
    const answer = await post('/api/admin/users', {
      email: 'no address',
      password: 'short',
      full_name: '   ',
      role: 'wizard',
      tenant_id: '1',
      department_id: 0,
      can_see_all_patients: 'yes',
    })
    expect(answer.status).toBe(422)
    expect(faultsOf(answer).sort()).toEqual([
      'body.can_see_all_patients: bool_type',
      'body.department_id: greater_than_equal',
      'body.email: value_error',
      'body.full_name: string_too_short',
      'body.password: string_too_short',
      'body.role: enum',
      'body.tenant_id: int_type',
    ])
    for (const fault of answer.body.detail) {
      expect(Object.keys(fault).toSorted()).toEqual(['loc', 'msg', 'type'])
      expect(fault.msg).toMatch(/\w/)
    }
  })

  test('include missing fields', async () => {
    expect(faultsOf(await post('/api/admin/users', {})).sort()).toEqual([
      'body.email: missing',
      'body.full_name: missing',
      'body.role: missing',
      'body.tenant_id: value_error',
    ])
  })

  test.each([
    ['a number instead of text', { full_name: 7 }, 'body.full_name: string_type'],
    ['null for a field that cannot be cleared', { full_name: null }, 'body.full_name: string_type'],
    ['text that is too long', { full_name: 'x'.repeat(201) }, 'body.full_name: string_too_long'],
    ['a number in quotes', { tenant_id: '1' }, 'body.tenant_id: int_type'],
    ['a fraction', { tenant_id: 1.5 }, 'body.tenant_id: int_type'],
    ['true instead of a number', { tenant_id: true }, 'body.tenant_id: int_type'],
    ['an ID below one', { tenant_id: 0 }, 'body.tenant_id: greater_than_equal'],
    ['an ID above 2^53 - 1', { tenant_id: 2 ** 53 }, 'body.tenant_id: less_than_equal'],
    ['1 instead of true', { can_see_all_patients: 1 }, 'body.can_see_all_patients: bool_type'],
    ['a list instead of text', { role: ['nurse'] }, 'body.role: string_type'],
    ['an unknown role', { role: 'Nurse' }, 'body.role: enum'],
    ['an invalid address', { email: 'a@b@c' }, 'body.email: value_error'],
    ['a common password', { password: 'password123' }, 'body.password: value_error'],
    [
      'a password that contains the name in the address',
      { password: 'someone-2026' },
      'body.password: value_error',
    ],
  ])('use the documented types: %s', async (_what, wrong, fault) => {
    const answer = await post('/api/admin/users', user(wrong))
    expect(answer.status).toBe(422)
    expect(faultsOf(answer)).toContain(fault)
  })

  test.each([
    [
      'a subdomain with invalid characters',
      { subdomain: 'Not One' },
      'body.subdomain: string_pattern_mismatch',
    ],
    ['a reserved subdomain', { subdomain: 'www' }, 'body.subdomain: value_error'],
    [
      'settings that are not an object',
      { subdomain: 'fine', settings: [] },
      'body.settings: dict_type',
    ],
    [
      'an invalid value of a known setting',
      { settings: { listed: 'no' } },
      'body.settings.listed: bool_type',
    ],
  ])('use the documented types for tenants: %s', async (_what, wrong, fault) => {
    const answer = await post('/api/admin/tenants', { name: 'Fine', ...wrong })
    expect(answer.status).toBe(422)
    expect(faultsOf(answer)).toContain(fault)
  })
})

describe('a request body', () => {
  test.each([
    ['truncated', '{"theme":'],
    ['two values', '{"theme":"dark"} {}'],
    ['single quotes', "{'theme': 'dark'}"],
    ['a trailing comma', '{"theme":"dark",}'],
    ['NaN as a value', '{"theme":NaN}'],
    ['form fields', 'theme=dark'],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ])('gets 422 json_invalid if it is not valid JSON: %s', async (_what, payload) => {
    const answer = await send(payload)
    expect([answer.status, faultsOf(answer)]).toEqual([422, ['body: json_invalid']])
  })

  test.each(['text/plain', 'multipart/form-data', 'application/xml', 'nonsense', ';;;', ''])(
    'gets 422 json_invalid with the content type "%s"',
    async (type) => {
      const answer = await send('{"theme":"dark"}', { 'content-type': type })
      expect([answer.status, faultsOf(answer)]).toEqual([422, ['body: json_invalid']])
    },
  )

  test.each(['application/json', 'application/json; charset=utf-8', 'application/problem+json'])(
    'is accepted with the content type "%s"',
    async (type) => {
      expect(await send('{"theme":"dark"}', { 'content-type': type })).toMatchObject({
        status: 200,
      })
    },
  )

  test('gets 422 missing if it is absent', async () => {
    const answer = await service.call('PUT', '/api/preferences/theme', { token: root.token })
    expect([answer.status, faultsOf(answer)]).toEqual([422, ['body: missing']])
  })

  test('may be omitted if every field is optional', async () => {
    const { nurse } = clinic.people
    expect(await service.call('POST', '/api/auth/logout', { token: nurse.token })).toMatchObject({
      status: 200,
    })
  })

  test.each(['[]', 'null', '7', '"text"', 'true'])(
    'gets 422 dict_type if it is not an object: %s',
    async (payload) => {
      const answer = await send(payload)
      expect([answer.status, faultsOf(answer)]).toEqual([422, ['body: dict_type']])
    },
  )

  test('is ignored by an operation without a body', async () => {
    const path = `/api/admin/users/${clinic.people.doctor.id}/unblock`
    const answer = await service.call('POST', path, { token: root.token, payload: '{"broken' })
    expect(answer.status).toBe(200)
  })

  test.each(['nonsense', ''])(
    'is ignored by an operation without a body, with any content type: "%s"',
    async (type) => {
      const { token } = clinic.people.admin
      const headers = { 'content-type': type }
      for (const [method, path] of [
        ['POST', '/api/admin/cache/cleanup'],
        ['DELETE', '/api/messenger/link'],
        ['POST', `/api/admin/users/${clinic.people.doctor.id}/unblock`],
      ] as const)
        expect((await service.call(method, path, { token, headers })).status, path).toBe(200)
    },
  )
})

describe('a free-form object of the maximum size', () => {
  const BOUND = 64 * 1024
  // PostgreSQL adds a blank after each comma and colon. These are never adjacent, so `0,` is the worst case: it grows
  // by half.
  const WITH_BLANKS = 1.5

  /**
   * Returns an object with as many items as the limit allows. Counts a comma for each item, and the characters
   * `{"fill":[` and `]}`.
   */
  const fullOf = (item: unknown, bytes: number) => ({
    fill: Array(Math.floor((BOUND - 10) / (bytes + 1))).fill(item),
  })

  test.each([
    ['large numbers', 1e308, 309],
    ['small numbers', 5e-324, 326],
    ['negative fractions', -1.5e-7, 11],
    ['digits', 0, 1],
    ['text', 'ü', 4],
    ['escapes', '\u0001', 8],
    ['lists', [], 2],
    ['objects', { a: 0 }, 7],
  ])('is returned with the same length, except for white space: %s', async (_what, item, bytes) => {
    const settings = fullOf(item, bytes)
    const tenant = `/api/admin/tenants/${clinic.id}`
    for (const path of ['/api/preferences', tenant])
      expect(
        await service.call('PUT', path, { token: root.token, body: { settings } }),
      ).toMatchObject({ status: 200 })
    const lengths = await service.database.sql<{ bytes: number }>(
      `select octet_length(settings::text) as bytes from preferences where user_id = $1
       union all select octet_length(settings::text) from tenants where id = $2`,
      [root.id, clinic.id],
    )
    expect(lengths).toHaveLength(2)
    for (const { bytes } of lengths) expect(bytes).toBeLessThanOrEqual(BOUND * WITH_BLANKS)

    settings.fill.push(item)
    for (const path of ['/api/preferences', tenant]) {
      const answer = await service.call('PUT', path, { token: root.token, body: { settings } })
      expect([answer.status, faultsOf(answer)]).toEqual([422, ['body.settings: value_error']])
    }
  })
})

test.each(['1e400', '[-1e400]', '{"deep": [[1e999]]}'])(
  'a free-form object cannot contain a number that the service could not return unchanged: %s',
  async (number) => {
    const payload = `{"settings": {"number": ${number}}}`
    for (const path of ['/api/preferences', `/api/admin/tenants/${clinic.id}`]) {
      const answer = await service.call('PUT', path, { token: root.token, payload })
      expect([answer.status, faultsOf(answer)]).toEqual([422, ['body.settings: value_error']])
    }
  },
)

describe('unknown fields in a body', () => {
  test('are ignored, with or without known fields', async () => {
    const path = `/api/admin/departments/${clinic.departmentId}`
    const before = await service.call('PUT', path, { token: root.token, body: { colour: 'red' } })
    expect(before).toMatchObject({ status: 200, body: { name: 'Surgery' } })
    const made = await post('/api/admin/users', user({ colour: 'red', id: 1, shoe: { size: 43 } }))
    expect(made.status).toBe(201)
    expect(made.body.id).not.toBe(1)
  })

  test('are never stored, even if the table has a column of the same name', async () => {
    const { admin, nurse } = clinic.people
    const hidden = {
      role: 'superadmin',
      tenant_id: root.tenant_id,
      is_active: false,
      password_hash: 'x',
      totp_enabled_at: '2026-01-01',
    }
    const changed = await service.call('PUT', `/api/admin/users/${nurse.id}`, {
      token: admin.token,
      body: { full_name: 'Changed', ...hidden },
    })
    expect(changed).toMatchObject({
      status: 200,
      body: { full_name: 'Changed', role: 'nurse', tenant_id: clinic.id, email: nurse.email },
    })
    expect(changed.body).toMatchObject({ is_active: true, totp_enabled: false })
    const tenant = await service.call('PUT', `/api/admin/tenants/${clinic.id}`, {
      token: admin.token,
      body: { subdomain: 'other', is_platform: true, is_demo: true, deleted_at: '2026-01-01' },
    })
    expect(tenant).toMatchObject({ status: 200, body: { subdomain: 'bodies' } })
    const [row] = await service.database.sql(
      'select is_platform, is_demo, deleted_at from tenants where id = $1',
      [clinic.id],
    )
    expect(row).toEqual({ is_platform: false, is_demo: false, deleted_at: null })
  })

  test("such as __proto__ that could reach an object's prototype have no effect", async () => {
    const answer = await service.call('PUT', '/api/preferences', {
      token: root.token,
      payload:
        '{"settings":{"kept":1,"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}},"__proto__":{"theme":"light"}}',
    })
    expect(answer).toMatchObject({ status: 200, body: { settings: { kept: 1 } } })
    expect(answer.body.theme).not.toBe('light')
    expect(answer.body.settings).not.toHaveProperty('polluted')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})
