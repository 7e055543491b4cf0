/** Paging by `next` and `after`: every record once, at any depth, while others write. */
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

/** Departments named with the prefix and a number; every two of them were made at the same time. */
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

/** All pages of a list, one after the other; `between` runs between each two. */
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

describe('a walk along `next`', () => {
  test.each([
    ['departments', ['id', 'name', 'created_at']],
    ['users', ['id', 'email', 'full_name', 'role', 'created_at']],
    ['audit', ['id', 'created_at']],
  ])('through %s shows each record once, in the order of one large page', async (kind, sorts) => {
    for (const sort_by of sorts)
      for (const sort_order of ['asc', 'desc']) {
        const query = { sort_by, sort_order }
        // Reading writes nothing into the journal, so that the two are the same list.
        const whole = idsOf([(await list(kind, { ...query, limit: 100 })).body])
        const pages = await walk(kind, { ...query, limit: 7 })
        expect([sort_by, idsOf(pages)]).toEqual([sort_by, whole])
        expect(pages.map(({ page }) => page)).toEqual(pages.map((_, index) => index + 1))
        for (const page of pages)
          expect(page).toMatchObject({ total: whole.length, limit: 7, pages: pages.length })
      }
  })

  test('keeps its filters, and may go on with another limit', async () => {
    const first = (await list('departments', { search: 'P000', limit: 5 })).body
    const rest = await list('departments', { search: 'P000', limit: 100, after: first.next })
    expect(rest.body).toMatchObject({ total: 60, page: 2, limit: 100, next: null })
    expect(idsOf([first, rest.body])).toHaveLength(60)
  })

  test('of a superadmin goes through all tenants, or through the one that is named', async () => {
    await makeClinic(service, root, 'paging-other')
    const all = idsOf(await walk('users', { limit: 4, sort_by: 'email' }, undefined, root.token))
    const [{ count } = { count: 0 }] = await sql<{ count: number }>('select count(*) from users')
    expect(new Set(all).size).toBe(count)
    expect(all).toHaveLength(count)
    const one = await walk('users', { limit: 2, tenant_id: clinic.id }, undefined, root.token)
    expect(idsOf(one)).toHaveLength(5)
  })
})

describe('while others write', () => {
  test.each([
    ['asc', 'id'],
    ['desc', 'id'],
    ['asc', 'name'],
    ['desc', 'name'],
    ['asc', 'created_at'],
    ['desc', 'created_at'],
  ])(
    'what stays is shown once, %s by %s, although others come, go and move',
    async (sort_order, sort_by) => {
      await sql("delete from departments where tenant_id = $1 and name !~ '^p\\d+$'", [clinic.id])
      const before = await sql<{ id: number }>(
        "select id from departments where tenant_id = $1 and name ~ '^p\\d+$' order by id",
        [clinic.id],
      )
      await fill('doomed ', 20)
      const pages = await walk('departments', { sort_order, sort_by, limit: 6 }, async (page) => {
        if (page > 8) return
        // Before, behind and around where the page ended.
        await fill(`a${page} `, 2)
        await fill(`p00030 ${page} `, 2)
        await fill(`z${page} `, 2)
        await sql(
          `delete from departments where id in (select id from departments
           where tenant_id = $1 and name like 'doomed%' order by random() limit 2)`,
          [clinic.id],
        )
        // What is renamed moves within the order by name, and in no other.
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

  test('the record at the end of a page may go, and the next page begins behind its place', async () => {
    const first = (await list('departments', { limit: 3, sort_by: 'id' })).body
    const whole = idsOf([(await list('departments', { limit: 6, sort_by: 'id' })).body])
    await sql('delete from departments where id = $1', [whole[2]])
    const second = (await list('departments', { limit: 3, sort_by: 'id', after: first.next })).body
    expect(idsOf([second])).toEqual(whole.slice(3))
    // Its total is that of the first page: it is not counted again.
    expect(second.total).toBe(first.total)
  })
})

describe('beyond 10,000 records', () => {
  test('a page by its number is refused, naming `after`', async () => {
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

  test('a walk goes on', async () => {
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

describe('`after`', () => {
  test('with `page` is refused', async () => {
    const { next } = (await list('users', { limit: 2 })).body
    const answer = await list('users', { limit: 2, page: 2, after: next })
    expect(answer.status).toBe(422)
    expect(answer.body.detail).toMatchObject([{ loc: ['query', 'page'], type: 'value_error' }])
  })

  test('of another list, order, filter, tenant or making is refused, and never a fault of ours', async () => {
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

  test('is told together with every other fault', async () => {
    const answer = await list('users', { limit: 0, sort_by: 'no', page: 3, after: 'x' })
    const places = answer.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.'))
    expect(places).toEqual(expect.arrayContaining(['query.limit', 'query.sort_by', 'query.page']))
  })
})

test('times that lists are sorted by have no more digits than they are shown with', async () => {
  const columns = await sql<{ name: string; precision: number }>(
    `select table_name || '.' || column_name as name, datetime_precision as precision
     from information_schema.columns
     where table_name in ('users', 'departments', 'journal') and column_name = 'created_at'`,
  )
  expect(columns).toHaveLength(3)
  for (const { name, precision } of columns) expect([name, precision]).toEqual([name, 3])
})
