/** Parameters in the path and the query: text, parsed as the types that the operation declares. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../../support/clinics.ts'
import { openService, type Service } from '../../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'queries')
})

const list = (query: string) =>
  service.call('GET', `/api/admin/users?${query}`, { token: clinic.people.admin.token })

describe('an integer parameter', () => {
  test.each(['page=2', 'page=%2B2', 'page=002', 'page=1&page=2'])(
    'is parsed from %s',
    async (query) => {
      expect(await list(query)).toMatchObject({ status: 200, body: { page: 2 } })
    },
  )

  test.each(['', '1e3', '0x10', '1.0', '1.5', '1_000', 'one', 'true', ' ', '٣', 'NaN', 'Infinity'])(
    'is not parsed from "%s"',
    async (text) => {
      const answer = await list(`page=${encodeURIComponent(text)}`)
      expect(answer.status).toBe(422)
      expect(answer.body.detail).toEqual([
        {
          loc: ['query', 'page'],
          msg: 'Input should be a valid integer, unable to parse string as an integer',
          type: 'int_parsing',
        },
      ])
    },
  )

  test.each([
    ['page=0', 'page', 'greater_than_equal'],
    ['page=-1', 'page', 'greater_than_equal'],
    ['limit=0', 'limit', 'greater_than_equal'],
    ['limit=101', 'limit', 'less_than_equal'],
    ['tenant_id=0', 'tenant_id', 'greater_than_equal'],
    ['tenant_id=9007199254740992', 'tenant_id', 'less_than_equal'],
    ['tenant_id=99999999999999999999', 'tenant_id', 'less_than_equal'],
  ])('has limits in a query string: %s', async (query, name, type) => {
    const answer = await list(query)
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toMatchObject([{ loc: ['query', name], type }])
  })

  test.each(['one', '1e1', '0x1', '1.0', '-', '%20'])(
    'in a path is not parsed from "%s"',
    async (text) => {
      const answer = await service.call('GET', `/api/admin/users/${text}`, { token: root.token })
      expect(answer.status).toBe(422)
      expect(answer.body.detail).toMatchObject([{ loc: ['path', 'user_id'], type: 'int_parsing' }])
    },
  )

  test.each([
    ['0', 'greater_than_equal'],
    ['-1', 'greater_than_equal'],
    ['9007199254740992', 'less_than_equal'],
  ])('in a path has limits: %s', async (text, type) => {
    const answer = await service.call('DELETE', `/api/admin/tenants/${text}`, { token: root.token })
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toMatchObject([{ loc: ['path', 'tenant_id'], type }])
  })

  test('in a path may be as large as 2^53-1', async () => {
    const path = `/api/admin/users/${Number.MAX_SAFE_INTEGER}`
    expect(await service.call('GET', path, { token: root.token })).toMatchObject({ status: 404 })
  })
})

describe('a boolean parameter', () => {
  test.each(['true', 'True', 'TRUE', '1', 'yes', 'on', 't', 'y'])(
    'is true for "%s"',
    async (text) => {
      expect(await list(`is_active=${text}`)).toMatchObject({ status: 200, body: { total: 5 } })
    },
  )

  test.each(['false', 'False', '0', 'no', 'off', 'f', 'n'])('is false for "%s"', async (text) => {
    expect(await list(`is_active=${text}`)).toMatchObject({ status: 200, body: { total: 0 } })
  })

  test.each(['', '2', 'maybe', 'null', 'truee'])('is invalid for "%s"', async (text) => {
    const answer = await list(`is_active=${text}`)
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toMatchObject([
      { loc: ['query', 'is_active'], type: 'bool_parsing' },
    ])
  })
})

describe('a query string', () => {
  test('gets all its validation errors in one response', async () => {
    const answer = await list('page=x&limit=1000&role=wizard&sort_by=password_hash&sort_order=up')
    expect(answer.status).toBe(422)
    expect(
      answer.body.detail
        .map((fault: { loc: string[]; type: string }) => `${fault.loc[1]}: ${fault.type}`)
        .toSorted(),
    ).toEqual([
      'limit: less_than_equal',
      'page: int_parsing',
      'role: enum',
      'sort_by: enum',
      'sort_order: enum',
    ])
  })

  test('with a repeated parameter is read with the last value', async () => {
    expect(await list('role=nurse&role=doctor')).toMatchObject({
      status: 200,
      body: { total: 1, items: [{ role: 'doctor' }] },
    })
    expect((await list('page=1&page=x')).status).toBe(422)
  })

  test('cannot contain an unknown parameter', async () => {
    for (const name of ['colour', '__proto__', 'constructor', 'toString', 'role[]', 'Role', 'rôle'])
      expect([name, await list(`${encodeURIComponent(name)}=x`)]).toEqual([
        name,
        expect.objectContaining({
          status: 422,
          body: {
            detail: [
              {
                loc: ['query', name],
                msg: 'Extra inputs are not permitted',
                type: 'extra_forbidden',
              },
            ],
          },
        }),
      ])
  })

  test('cannot contain an empty value for an enumeration', async () => {
    for (const name of ['role', 'sort_by', 'sort_order'])
      expect((await list(`${name}=`)).body.detail).toMatchObject([
        { loc: ['query', name], type: 'enum' },
      ])
  })

  test('with an empty search text returns everything', async () => {
    expect(await list('search=')).toMatchObject({ status: 200, body: { total: 5 } })
  })

  test('that lacks required parameters gets an error for each of them', async () => {
    const answer = await service.call('GET', '/api/auth/departments')
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toEqual([
      { loc: ['query', 'subdomain'], msg: 'Field required', type: 'missing' },
    ])
  })
})
