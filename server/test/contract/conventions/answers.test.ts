/** What every answer has: its request id, its headers, its shape when it refuses. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../../support/clinics.ts'
import { type Answer, openService, type Service } from '../../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'answers')
})

/** One answer of each kind, refusals included. */
async function everyKind(headers: Record<string, string> = {}): Promise<Answer[]> {
  const { token } = root
  const path = `/api/admin/departments/${clinic.departmentId}`
  const call = (method: string, url: string, options = {}) =>
    service.call(method, url, { ...options, headers })
  const answers = [
    await call('GET', '/healthz'),
    await call('GET', '/api/admin/users'),
    await call('GET', '/api/admin/users', { token: clinic.people.nurse.token }),
    await call('GET', '/api/nowhere'),
    await call('GET', '/api/admin/users/%ff', { token }),
    await call('POST', '/api/admin/tenants', { token, payload: 'x'.repeat(2 ** 20 + 1) }),
    await call('POST', '/api/admin/tenants', { token, body: {} }),
    await call('POST', '/api/admin/tenants', { token, body: { name: 'A', subdomain: 'answers' } }),
  ]
  const made = await service.call('POST', '/api/admin/departments', {
    token,
    body: { name: 'Brief', tenant_id: clinic.id },
  })
  answers.push(await call('DELETE', path.replace(/\d+$/, made.body.id), { token }))
  expect(answers.map((answer) => answer.status)).toEqual([
    200, 401, 403, 404, 422, 413, 422, 409, 204,
  ])
  return answers
}

describe('the request id', () => {
  test('is on every answer, and another on each', async () => {
    const ids = (await everyKind()).map((answer) => answer.headers['x-request-id'])
    expect(ids.every((id) => /^[0-9a-f-]{36}$/.test(String(id)))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('is our own, whatever the caller gave', async () => {
    for (const answer of await everyKind({ 'x-request-id': 'find-me-1' }))
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('finds the request in the log and in the journal; that of the caller stands beside it in the log', async () => {
    const answer = await service.call('POST', '/api/admin/departments', {
      token: root.token,
      body: { name: 'Traced', tenant_id: clinic.id },
      headers: { 'x-request-id': 'trace:4711.b_c-D' },
    })
    const id = answer.headers['x-request-id']
    expect(service.logged.map(([, fields]) => fields)).toContainEqual(
      expect.objectContaining({
        req_id: id,
        caller_req_id: 'trace:4711.b_c-D',
        route: '/api/admin/departments',
        status: 201,
      }),
    )
    const entries = await service.database.sql(
      'select action, request_id from journal where request_id::text in ($1, $2)',
      [id, 'trace:4711.b_c-D'],
    )
    expect(entries).toEqual([{ action: 'department.created', request_id: id }])
  })

  test.each(['', 'a b', 'x'.repeat(101), '<script>', 'a"b', 'a,b', '{"a":1}', '\u00e9'])(
    'of the caller is not logged where it could do harm: "%s"',
    async (id) => {
      const answer = await service.call('GET', '/healthz', { headers: { 'x-request-id': id } })
      const line = service.logged.find(
        ([, fields]) => (fields as { req_id?: unknown }).req_id === answer.headers['x-request-id'],
      )
      expect(line?.[1]).toMatchObject({ caller_req_id: undefined })
    },
  )
})

describe('the headers', () => {
  test('that protect are on every answer', async () => {
    for (const answer of await everyKind())
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'strict-transport-security': expect.stringContaining('max-age='),
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      })
  })

  test('that say what serves are on none', async () => {
    for (const answer of await everyKind()) {
      expect(answer.headers).not.toHaveProperty('server')
      expect(answer.headers).not.toHaveProperty('x-powered-by')
    }
  })

  test('of an empty answer name no type, and it has no body', async () => {
    const [empty] = (await everyKind()).filter((answer) => answer.status === 204)
    expect(empty?.headers).not.toHaveProperty('content-type')
    expect(empty?.body).toBeUndefined()
  })
})

describe('a refusal', () => {
  test('has a sentence and a code, or the faults of the input, and nothing else', async () => {
    for (const { status, body } of await everyKind()) {
      if (status < 400) continue
      if (status === 422) expect(Object.keys(body)).toEqual(['detail'])
      else expect(body).toEqual({ detail: expect.any(String), code: expect.any(String) })
    }
  })

  test.each([
    ['GET', '/api'],
    ['GET', '/api/admin/users/1/nothing'],
    ['GET', '/API/admin/users'],
  ])('is 404 where no operation is: %s %s', async (method, path) => {
    const answer = await service.call(method, path, { token: root.token })
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  test('that is a fault of ours says nothing of it; the log does, by the request id', async () => {
    const broken = await openService()
    const { token } = await superadmin(broken)
    await broken.database.sql('alter table departments rename to departments_gone')
    const answer = await broken.call('GET', '/api/admin/departments', { token })
    expect(answer).toMatchObject({
      status: 500,
      body: { detail: 'Internal server error', code: 'internal' },
    })
    expect(JSON.stringify(answer.body)).not.toMatch(/departments|select|relation/)
    const [, fields] = broken.logged.find(([level]) => level === 'error') ?? []
    expect(fields).toMatchObject({ req_id: answer.headers['x-request-id'] })
  })
})

describe('HEAD', () => {
  test('answers as GET does, without the body', async () => {
    const { token } = root
    const get = await service.call('GET', '/api/admin/departments', { token })
    const head = await service.call('HEAD', '/api/admin/departments', { token })
    expect(head.status).toBe(200)
    expect(head.body).toBeUndefined()
    expect(head.headers['content-length']).toBe(get.headers['content-length'])
    expect(head.headers['content-type']).toBe(get.headers['content-type'])
  })

  test('needs the same token and role, and refuses as GET does', async () => {
    const { nurse } = clinic.people
    for (const [options, status] of [
      [{}, 401],
      [{ token: nurse.token }, 403],
      [{ token: root.token, query: { page: 0 } }, 422],
    ] as const)
      expect(await service.call('HEAD', '/api/admin/users', options)).toMatchObject({ status })
  })
})
