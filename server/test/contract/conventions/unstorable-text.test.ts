/** Unstorable text and unlimited nesting are refused with 422, never a 500. */
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Clinic,
  makeClinic,
  type Person,
  superadmin,
  tokenFor,
} from '../../support/clinics.ts'
import { openService, type Service } from '../../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'texts')
})

/** JSON escapes of a NUL and of halves of a surrogate pair. */
const UNSTORABLE = ['\\u0000', '\\ud800', '\\udc00', '\\udc00\\ud800']

describe('text that PostgreSQL cannot store', () => {
  test.each(UNSTORABLE)('is refused in every field of every body: %s', async (text) => {
    for (const op of service.app.operations) {
      const fields = Object.keys(op.body?.properties ?? {})
      if (fields.length === 0) continue
      const payload = `{${fields.map((field) => `"${field}":"a${text}b"`).join(',')}}`
      const path = op.path.replaceAll(/\{\w+\}/g, '1')
      const token = tokenFor(op, root, clinic)
      const answer = await service.call(op.method, path, { token, payload })
      expect([op.id, answer.status]).toEqual([op.id, 422])
      const places = answer.body.detail.map((fault: { loc: string[] }) => fault.loc.join('.'))
      expect(places.filter((place: string) => place.startsWith('body'))).toEqual(
        fields.map((field) => `body.${field}`),
      )
    }
  })

  test.each(UNSTORABLE)(
    'is refused deep in free-form settings, as a value and as a key: %s',
    async (text) => {
      for (const inner of [`{"a":[1,{"b":"${text}"}]}`, `{"a":{"${text}":1}}`]) {
        const payload = `{"settings":${inner}}`
        const answer = await service.call('PUT', '/api/preferences', { token: root.token, payload })
        expect([inner, answer.status]).toEqual([inner, 422])
        expect(answer.body.detail[0].loc.slice(0, 3)).toEqual(['body', 'settings', 'a'])
      }
    },
  )

  test.each(['%00', 'a%00b', '%ED%A0%80', '%FF', '%', '%zz', '%C3'])(
    'is refused in a query: %s',
    async (text) => {
      for (const query of [`search=${text}`, `role=${text}`, `page=${text}`]) {
        const answer = await service.call('GET', `/api/admin/users?${query}`, { token: root.token })
        expect([query, answer.status]).toEqual([query, 422])
        expect(
          answer.body.detail.every((fault: { loc: string[] }) => fault.loc[0] === 'query'),
        ).toBe(true)
      }
    },
  )

  test.each(['%00', '%ED%A0%80', '%FF', '%', '%zz', 'x'.repeat(3000)])(
    'is refused in a path: %s',
    async (text) => {
      for (const [method, path] of [
        ['GET', `/api/admin/users/${text}`],
        ['DELETE', `/api/auth/sessions/${text}`],
      ] as const) {
        const answer = await service.call(method, path, { token: root.token })
        expect([path, answer.status]).toEqual([path, 422])
        expect(answer.body.detail[0].loc[0]).toBe('path')
      }
    },
  )

  test('is dropped or replaced in a header', async () => {
    const headers = { 'user-agent': 'agent \u00e9\u00ff', 'x-request-id': 'caf\u00e9' }
    const { email, password } = clinic.people.nurse
    const body = { email, password, subdomain: clinic.subdomain }
    const answer = await service.call('POST', '/api/auth/login', { body, headers })
    expect(answer.status).toBe(200)
    expect(answer.headers['x-request-id']).toMatch(/^[\w-]{36}$/)
  })

  test('does not include any other text, which is stored unchanged', async () => {
    const name = 'Łucja 👩🏽‍⚕️ "O\'Brien" \\ <b>&amp;</b> %s $1 ; -- می\u200cخواهم'
    const made = await service.call('POST', '/api/admin/departments', {
      token: clinic.people.admin.token,
      body: { name },
    })
    expect(made).toMatchObject({ status: 201, body: { name } })
    const found = await service.call('GET', '/api/admin/departments', {
      token: clinic.people.admin.token,
      query: { search: '👩🏽‍⚕️ "O\'Brien" \\ <b>' },
    })
    expect(found.body.items.map((item: { id: number }) => item.id)).toEqual([made.body.id])
  })

  test('a search treats wildcards as ordinary characters', async () => {
    for (const search of ['%', '_', '\\'])
      expect(
        await service.call('GET', '/api/admin/users', { token: root.token, query: { search } }),
      ).toMatchObject({ status: 200, body: { total: 0 } })
  })
})

describe('nested settings', () => {
  const nested = (levels: number, open: string, close: string) =>
    `{"settings":${open.repeat(levels)}${close.repeat(levels)}}`
  const put = (payload: string) =>
    service.call('PUT', '/api/preferences', { token: root.token, payload })

  test('are accepted up to 32 levels', async () => {
    expect(await put(nested(32, '{"a":', '}').replace(':}', ':1}'))).toMatchObject({ status: 200 })
    expect(await put(nested(33, '{"a":', '}').replace(':}', ':1}'))).toMatchObject({ status: 422 })
  })

  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('are refused if they are nested very deeply: %s', async (_what, open, close) => {
    const levels = Math.floor((127 * 1024) / (open.length + close.length))
    const answer = await put(nested(levels, open, close).replace(':}', ':1}'))
    expect(answer.status).toBe(422)
  })

  test('are limited in size, to 64 KiB', async () => {
    expect(await put(JSON.stringify({ settings: { a: 'x'.repeat(60_000) } }))).toMatchObject({
      status: 200,
    })
    expect(await put(JSON.stringify({ settings: { a: 'x'.repeat(70_000) } }))).toMatchObject({
      status: 422,
    })
  })
})
