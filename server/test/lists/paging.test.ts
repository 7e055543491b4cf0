/** Paging with `next` and `after` returns every record exactly once, at any depth and during concurrent writes. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic
let sql: Service['database']['sql']

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'paging')
  sql = service.database.sql
  await fill('p', 60)
})

/** Creates numbered departments with the prefix. Each pair of departments has the same creation time. */
const fill = (prefix: string, count: number) =>
  sql(
    `insert into departments (tenant_id, name, created_at)
     select $1, $2 || lpad(n::text, 5, '0'), '2026-01-01'::timestamptz + n / 2 * interval '1 ms'
     from generate_series(1, $3::int) n`,
    [clinic.id, prefix, count],
  )

type Query = Record<string, string | number | boolean>

const list = (kind: string, query: Query = {}, token = clinic.people.admin.token) =>
  service.call('GET', `/api/admin/${kind}`, { token, query })

/** Returns all pages of a list in order. `between` runs after each page. */
async function walk(
  kind: string,
  query: Query,
  between: (page: number) => Promise<unknown> = async () => undefined,
  token?: string,
) {
  const pages = []
  for (let after: string | null | undefined; after !== null; ) {
    const answer = await list(kind, { ...query, ...(after ? { after } : {}) }, token)
    expect(answer.status).toBe(200)
    pages.push(answer.body)
    after = answer.body.next as string | null
    if (after) await between(pages.length)
  }
  return pages
}

const idsOf = (pages: { items: { id: number }[] }[]) =>
  pages.flatMap(({ items }) => items.map(({ id }) => id))

describe('following the cursor `next` through a list', () => {
  test.each([
    ['departments', ['id', 'name', 'created_at']],
    ['users', ['id', 'email', 'full_name', 'role', 'created_at']],
    ['audit', ['id', 'created_at']],
  ])('of %s returns each record once, in the order of one large page', async (kind, sorts) => {
    for (const sort_by of sorts)
      for (const sort_order of ['asc', 'desc']) {
        const query = { sort_by, sort_order }
        // Reading adds no journal entries, so the whole list and the pages contain the same entries.
        const whole = idsOf([(await list(kind, { ...query, limit: 100 })).body])
        const pages = await walk(kind, { ...query, limit: 7 })
        expect([sort_by, idsOf(pages)]).toEqual([sort_by, whole])
        expect(pages.map(({ page }) => page)).toEqual(pages.map((_, index) => index + 1))
        for (const page of pages)
          expect(page).toMatchObject({ total: whole.length, limit: 7, pages: pages.length })
      }
  })

  test('keeps the filters, and may use another limit', async () => {
    const first = (await list('departments', { search: 'P000', limit: 5 })).body
    const rest = await list('departments', { search: 'P000', limit: 100, after: first.next })
    expect(rest.body).toMatchObject({ total: 60, page: 2, limit: 100, next: null })
    expect(idsOf([first, rest.body])).toHaveLength(60)
  })

  test('returns records of all tenants to a superadmin, or of the tenant in the request', async () => {
    await makeClinic(service, root, 'paging-other')
    const all = idsOf(await walk('users', { limit: 4, sort_by: 'email' }, undefined, root.token))
    const [{ count } = { count: 0 }] = await sql<{ count: number }>('select count(*) from users')
    expect(new Set(all).size).toBe(count)
    expect(all).toHaveLength(count)
    const one = await walk('users', { limit: 2, tenant_id: clinic.id }, undefined, root.token)
    expect(idsOf(one)).toHaveLength(5)
  })
})

describe('following `next` while others write', () => {
  test.each([
    ['asc', 'id'],
    ['desc', 'id'],
    ['asc', 'name'],
    ['desc', 'name'],
    ['asc', 'created_at'],
    ['desc', 'created_at'],
  ])(
    'returns unchanged records once, %s by %s, while others are added, deleted and moved',
    async (sort_order, sort_by) => {
      await sql("delete from departments where tenant_id = $1 and name !~ '^p\\d+$'", [clinic.id])
      const before = await sql<{ id: number }>(
        "select id from departments where tenant_id = $1 and name ~ '^p\\d+$' order by id",
        [clinic.id],
      )
      await fill('doomed ', 20)
      const pages = await walk('departments', { sort_order, sort_by, limit: 6 }, async (page) => {
        if (page > 8) return
        // Inserts records before, after and around the end of the page.
        await fill(`a${page} `, 2)
        await fill(`p00030 ${page} `, 2)
        await fill(`z${page} `, 2)
        await sql(
          `delete from departments where id in (select id from departments
           where tenant_id = $1 and name like 'doomed%' order by random() limit 2)`,
          [clinic.id],
        )
        // Renaming a record changes its position only in the order by name.
        await sql(
          "update departments set name = 'm' || md5(random()::text) where tenant_id = $1 and name like 'z1 %'",
          [clinic.id],
        )
      })
      const ids = idsOf(pages)
      if (sort_by !== 'name') expect(new Set(ids).size).toBe(ids.length)
      const stayed = new Set(before.map(({ id }) => id))
      expect(ids.filter((id) => stayed.has(id)).toSorted((a, b) => a - b)).toEqual([...stayed])
    },
  )

  test('continues after the end of a page, even if the last record of that page was deleted', async () => {
    const first = (await list('departments', { limit: 3, sort_by: 'id' })).body
    const whole = idsOf([(await list('departments', { limit: 6, sort_by: 'id' })).body])
    await sql('delete from departments where id = $1', [whole[2]])
    const second = (await list('departments', { limit: 3, sort_by: 'id', after: first.next })).body
    expect(idsOf([second])).toEqual(whole.slice(3))
    // The second page repeats the total of the first page without counting again.
    expect(second.total).toBe(first.total)
  })
})

describe('a list of more than 10,000 records', () => {
  test('rejects page numbers beyond 10,000 records, and recommends the parameter `after`', async () => {
    for (const kind of ['users', 'departments', 'audit']) {
      const answer = await list(kind, { page: 1_000_000_000, limit: 20 })
      expect(answer.status).toBe(422)
      expect(answer.body.detail).toMatchObject([
        { loc: ['query', 'page'], type: 'value_error', msg: expect.stringMatching(/10000.*after/) },
      ])
    }
    expect((await list('users', { page: 101, limit: 100 })).status).toBe(422)
    expect((await list('users', { page: 100, limit: 100 })).status).toBe(200)
  })

  test('can be read further with the cursor `next`', async () => {
    await sql('delete from departments where tenant_id = $1', [clinic.id])
    await fill('deep ', 10_250)
    const pages = await walk('departments', {
      limit: 100,
      sort_by: 'created_at',
      sort_order: 'desc',
    })
    expect(new Set(idsOf(pages)).size).toBe(10_250)
    expect(pages).toHaveLength(103)
    expect(pages.at(-1)).toMatchObject({ page: 103, next: null, total_estimated: true })
  })
})

describe('the cursor `after`', () => {
  test('is rejected together with `page`', async () => {
    const { next } = (await list('users', { limit: 2 })).body
    const answer = await list('users', { limit: 2, page: 2, after: next })
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toMatchObject([{ loc: ['query', 'page'], type: 'value_error' }])
  })

  test('is rejected with another list, order, filter or tenant, and never causes a 500', async () => {
    const { next } = (await list('users', { limit: 2, sort_by: 'email' })).body
    const forged = Buffer.from('["AAAAAAAAAAA",2,9,0,"a\\u0000",1]').toString('base64url')
    const other = (await list('users', { limit: 2, sort_by: 'email' }, root.token)).body.next
    const cases: [string, Query][] = [
      ['departments', { sort_by: 'name', after: next }],
      ['users', { sort_by: 'full_name', after: next }],
      ['users', { sort_by: 'email', sort_order: 'desc', after: next }],
      ['users', { sort_by: 'email', role: 'nurse', after: next }],
      ['users', { sort_by: 'email', after: other }],
      ['users', { sort_by: 'email', after: forged }],
      ['users', { sort_by: 'email', after: `${next}x` }],
      ['users', { sort_by: 'email', after: '' }],
      ['audit', { after: 'null' }],
    ]
    for (const [kind, query] of cases) {
      const answer = await list(kind, query)
      expect([query, answer.status]).toEqual([query, 422])
      expect(answer.body.detail).toMatchObject([{ loc: ['query', 'after'] }])
    }
  })

  test('is reported as invalid together with all other errors', async () => {
    const answer = await list('users', { limit: 0, sort_by: 'no', page: 3, after: 'x' })
    const places = answer.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))
    expect(places).toEqual(expect.arrayContaining(['query.limit', 'query.sort_by', 'query.page']))
  })
})

test('a list returns timestamps with the same number of digits that its sorting compares', async () => {
  const columns = await sql<{ name: string; precision: number }>(
    `select table_name || '.' || column_name as name, datetime_precision as precision
     from information_schema.columns
     where table_name in ('users', 'departments', 'journal') and column_name = 'created_at'`,
  )
  expect(columns).toHaveLength(3)
  for (const { name, precision } of columns) expect([name, precision]).toEqual([name, 3])
})
