/** The public lists are limited, cached for all callers, and correct after every change. */
import { beforeAll, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic
let sql: Service['database']['sql']

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'public')
  sql = service.database.sql
})

const tenants = async () =>
  (await service.call<{ name: string }[]>('GET', '/api/auth/tenants')).body.map(({ name }) => name)
const departments = async () => {
  const query = { subdomain: clinic.subdomain }
  const answer = await service.call('GET', '/api/auth/departments', { query })
  return answer.status === 200
    ? (answer.body as { name: string }[]).map(({ name }) => name)
    : answer.status
}
const change = (method: string, path: string, body?: object) =>
  service.call(method, path, { token: root.token, ...(body ? { body } : {}) })

test('a public list queries the database at most once in 5 s', async () => {
  service.clock.stop()
  const [known, theirs] = [await tenants(), await departments()]
  // Inserts the row directly, so that no node invalidates its cache.
  await sql("insert into tenants (name, subdomain) values ('By Hand', 'by-hand')")
  await sql("insert into departments (tenant_id, name) values ($1, 'By Hand')", [clinic.id])
  service.clock.advance(4_999)
  expect([await tenants(), await departments()]).toEqual([known, theirs])
  service.clock.advance(1)
  expect(await tenants()).toContain('By Hand')
  expect(await departments()).toContain('By Hand')
})

test('a public list immediately shows changes made through the service', async () => {
  await tenants()
  await departments()
  const made = await change('POST', '/api/admin/tenants', { name: 'New', subdomain: 'new-one' })
  expect(await tenants()).toContain('New')
  await change('PUT', `/api/admin/tenants/${made.body.id}`, { name: 'Renamed' })
  expect(await tenants()).toContain('Renamed')
  await change('DELETE', `/api/admin/tenants/${made.body.id}`)
  expect(await tenants()).not.toContain('Renamed')

  const body = { name: 'Dental', tenant_id: clinic.id }
  const dental = await change('POST', '/api/admin/departments', body)
  expect(await departments()).toContain('Dental')
  await change('DELETE', `/api/admin/departments/${dental.body.id}`)
  expect(await departments()).not.toContain('Dental')
  await change('PUT', `/api/admin/tenants/${clinic.id}`, { settings: { listed: false } })
  expect(await departments()).toBe(404)
  expect(await tenants()).not.toContain('Clinic public')
  await change('PUT', `/api/admin/tenants/${clinic.id}`, { settings: {} })
  expect(await departments()).toContain('Surgery')
})

test('a public list has at most 1,000 entries', async () => {
  await sql(
    "insert into tenants (name, subdomain) select 'Many', 'many' || n from generate_series(1, 1100) n",
  )
  await sql(
    "insert into departments (tenant_id, name) select $1, 'many ' || n from generate_series(1, 1100) n",
    [clinic.id],
  )
  service.clock.advance(5_000)
  expect(await tenants()).toHaveLength(1_000)
  expect(await departments()).toHaveLength(1_000)
  const all = await service.call('GET', '/api/admin/tenants', { token: root.token })
  expect(all.body).toHaveLength(1_000)
})
