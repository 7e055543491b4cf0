/** Pages of lists: their envelope, order, filters and totals. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../../support/clinics.ts'
import { openService, type Service } from '../../support/service.ts'

const NAMES = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf']

let service: Service
let clinic: Clinic
let large: Clinic

beforeAll(async () => {
  service = await openService()
  const root = await superadmin(service)
  clinic = await makeClinic(service, root, 'lists')
  large = await makeClinic(service, root, 'large')
  for (const name of ['delta', 'alpha', 'golf', 'charlie', 'foxtrot', 'bravo', 'echo'])
    await service.call('POST', '/api/admin/departments', {
      token: clinic.people.admin.token,
      body: { name },
    })
})

const list = (kind: string, query = {}, of = clinic) =>
  service.call('GET', `/api/admin/${kind}`, { token: of.people.admin.token, query })
const namesOf = (answer: { body: { items: { name: string }[] } }) =>
  answer.body.items.map((item) => item.name)

describe('a page of a list', () => {
  test('is the first page with 20 items in order of their IDs by default', async () => {
    const answer = await list('departments')
    expect(answer.body).toMatchObject({ total: 8, page: 1, limit: 20, pages: 1 })
    const ids = answer.body.items.map((item: { id: number }) => item.id)
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b))
    expect(answer.body).not.toHaveProperty('total_estimated')
  })

  test('contains as many items as its limit allows, and all pages together contain each item once', async () => {
    const seen: string[] = []
    for (const [page, count] of [3, 3, 2].entries()) {
      const answer = await list('departments', { page: page + 1, limit: 3, sort_by: 'name' })
      expect(answer.body).toMatchObject({ total: 8, page: page + 1, limit: 3, pages: 3 })
      expect(answer.body.items).toHaveLength(count)
      seen.push(...namesOf(answer))
    }
    expect(seen.toSorted()).toEqual(['Surgery', ...NAMES])
  })

  test('beyond the end is empty, with the same total', async () => {
    for (const page of [4, 3_333])
      expect((await list('departments', { page, limit: 3 })).body).toEqual({
        items: [],
        total: 8,
        page,
        limit: 3,
        pages: 3,
        next: null,
      })
  })

  test('of an empty list is empty, and the list has zero pages', async () => {
    expect((await list('departments', { search: 'nowhere' })).body).toEqual({
      items: [],
      total: 0,
      page: 1,
      limit: 20,
      pages: 0,
      next: null,
    })
  })

  test('may be limited to between 1 and 100 items', async () => {
    expect((await list('departments', { limit: 1 })).body).toMatchObject({ limit: 1, pages: 8 })
    expect((await list('departments', { limit: 100 })).body).toMatchObject({ limit: 100, pages: 1 })
  })
})

describe('the order of a list', () => {
  test('can be ascending or descending by a field', async () => {
    const up = await list('departments', { sort_by: 'name', search: 'a' })
    const down = await list('departments', { sort_by: 'name', search: 'a', sort_order: 'desc' })
    expect(namesOf(up)).toEqual(['alpha', 'bravo', 'charlie', 'delta'])
    expect(namesOf(down)).toEqual(['delta', 'charlie', 'bravo', 'alpha'])
  })

  test('is by ID among equal values, so that pages never overlap', async () => {
    const { sql } = service.database
    await sql('update departments set created_at = now() where tenant_id = $1', [clinic.id])
    const ids: number[] = []
    for (const page of [1, 2, 3, 4]) {
      const answer = await list('departments', { sort_by: 'created_at', limit: 2, page })
      ids.push(...answer.body.items.map((item: { id: number }) => item.id))
    }
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    expect(new Set(ids).size).toBe(8)
  })

  test.each([
    ['departments', ['id', 'name', 'created_at']],
    ['users', ['id', 'email', 'full_name', 'role', 'created_at']],
    ['audit', ['id', 'created_at']],
  ])('of %s can use each sortable field', async (kind, fields) => {
    for (const sort_by of fields)
      for (const sort_order of ['asc', 'desc']) {
        const answer = await list(kind, { sort_by, sort_order, limit: 100 })
        expect([sort_by, answer.status]).toEqual([sort_by, 200])
        const values = answer.body.items.map(
          (item: Record<string, number | string>) => item[sort_by],
        )
        const sorted = values.toSorted((a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0))
        // Text is sorted by a collation for people, which may differ from the order of code points.
        if (sort_by !== 'name')
          expect([sort_by, values]).toEqual([
            sort_by,
            sort_order === 'asc' ? sorted : sorted.reverse(),
          ])
      }
  })

  test.each([
    ['departments', 'tenant_id'],
    ['users', 'password_hash'],
    ['users', 'last_login_at'],
    ['audit', 'changes'],
    ['audit', 'action'],
    ['audit', 'user_id'],
    ['audit', 'id; drop table users'],
  ])('of %s cannot use %s', async (kind, sort_by) => {
    const answer = await list(kind, { sort_by })
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toMatchObject([{ loc: ['query', 'sort_by'], type: 'enum' }])
  })

  test('of the audit log starts with the latest entry', async () => {
    const { items } = (await list('audit', { limit: 100 })).body
    const times = items.map((item: { created_at: string }) => item.created_at)
    expect(times).toEqual(times.toSorted().reverse())
  })
})

describe('the filters of lists', () => {
  test('of users can be combined', async () => {
    expect((await list('users', { role: 'doctor', is_active: true })).body.total).toBe(1)
    expect((await list('users', { role: 'doctor', is_active: false })).body.total).toBe(0)
    expect((await list('users', { search: 'NURSE@lists' })).body.items).toMatchObject([
      { role: 'nurse' },
    ])
    expect((await list('users', { search: 'nurse of', role: 'doctor' })).body.total).toBe(0)
  })

  test('of the audit log can be combined', async () => {
    const user_id = clinic.people.admin.id
    const entries = await list('audit', { user_id, action: 'department.created' })
    expect(entries.body.total).toBe(7)
    expect((await list('audit', { user_id, action: 'tenant.created' })).body.total).toBe(0)
    expect((await list('audit', { action: 'department.created', user_id: 1 })).body.total).toBe(1)
  })

  test('of the audit log can select the history of one record or of one resource type', async () => {
    const [department] = (await list('departments', { limit: 1 })).body.items
    const { token } = clinic.people.admin
    const name = `Renamed ${department.id}`
    await service.call('PUT', `/api/admin/departments/${department.id}`, { token, body: { name } })
    const record = { resource_type: 'department', resource_id: String(department.id) }
    const actionsOf = async (query: Record<string, string>) =>
      (await list('audit', query)).body.items.map(({ action }: { action: string }) => action)
    expect(await actionsOf(record)).toEqual(['department.updated', 'department.created'])
    expect(await actionsOf({ ...record, action: 'department.updated' })).toEqual([
      'department.updated',
    ])
    expect(await actionsOf({ ...record, resource_type: 'user' })).not.toContain(
      'department.created',
    )
    const kinds = (await list('audit', { resource_type: 'department', limit: 100 })).body.items
    expect(new Set(kinds.map((item: { resource_type: string }) => item.resource_type))).toEqual(
      new Set(['department']),
    )
    expect(await actionsOf({ resource_type: 'nothing' })).toEqual([])
    await service.call('PUT', `/api/admin/departments/${department.id}`, {
      token,
      body: { name: department.name },
    })
  })

  test('of the audit log reject a record ID without a resource type', async () => {
    const answer = await list('audit', { resource_id: '1' })
    expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ['query', 'resource_id']])
  })
})

describe('the total of a list', () => {
  const fill = (count: number) =>
    service.database.sql(
      `insert into departments (tenant_id, name)
       select $1, 'dept ' || n from generate_series(1, $2::int) n`,
      [large.id, count],
    )

  test('is exact up to 10,000, and above that may be an estimate that is marked as such', async () => {
    await fill(9_999)
    const exact = (await list('departments', {}, large)).body
    expect(exact).toMatchObject({ total: 10_000, pages: 500 })
    expect(exact).not.toHaveProperty('total_estimated')
    await service.database.sql(
      "insert into departments (tenant_id, name) values ($1, 'one more')",
      [large.id],
    )
    const estimated = (await list('departments', { limit: 100 }, large)).body
    expect(estimated.total_estimated).toBe(true)
    expect(estimated.total).toBeGreaterThan(10_000)
    expect(estimated.pages).toBe(Math.ceil(estimated.total / 100))
    expect(estimated.items).toHaveLength(100)
  })
})
