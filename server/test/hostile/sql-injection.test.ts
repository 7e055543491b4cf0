/** SQL and patterns as input: a filter takes them as plain text, and a sort column rejects them. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let clinic: Clinic

const LISTS = ['/api/admin/users', '/api/admin/departments', '/api/admin/audit']
const SEARCHED = ['/api/admin/users', '/api/admin/departments']
const INJECTED = [
  "' or '1'='1",
  "x'; delete from users; --",
  'id; select pg_sleep(10)',
  '(select password_hash from users limit 1)',
  "\\' or 1=1 --",
  '$1',
]

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const list = (path: string, query: Record<string, string>) =>
  service.call('GET', path, { token: clinic.people.admin.token, query })

describe.each(INJECTED)('the SQL injection %s', (text) => {
  test('is rejected as a sort column and as a direction', async () => {
    for (const path of LISTS)
      for (const name of ['sort_by', 'sort_order'])
        expect((await list(path, { [name]: text })).status).toBe(422)
  })

  test('is ordinary text in a search, which finds nothing', async () => {
    for (const path of SEARCHED)
      expect(await list(path, { search: text })).toMatchObject({ status: 200, body: { total: 0 } })
    expect(await list('/api/admin/audit', { action: text })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'action'] }] },
    })
  })
})

test.each(['%', '_', '%%', '\\', 'a%n', '____'])(
  'a search treats the wildcard %s as an ordinary character',
  async (search) => {
    for (const path of SEARCHED) expect((await list(path, { search })).body.total).toBe(0)
  },
)

test('the requests of the tests above leave the data unchanged', async () => {
  const [{ count } = { count: 0 }] = await service.database.sql<{ count: number }>(
    'select count(*)::int as count from users',
  )
  expect(count).toBeGreaterThan(Object.keys(clinic.people).length)
})
