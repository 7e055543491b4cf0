/** Tests pages of a list: valid queries, the start of a page, and the response. */
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { MAX_CURSOR, readCursor, writeCursor } from './cursor.ts'
import {
  defineList,
  type PageQuery,
  type PageRequest,
  pageOf,
  pageStartOf,
  toPage,
} from './page.ts'

const list = defineList(
  'things',
  { id: 'integer', name: 'text', made_at: 'time' },
  { sort_by: 'name', sort_order: 'desc' },
)
const caller = { role: 'admin', tenant_id: 4 } as const
const QUERY = { limit: 20, sort_by: 'name', sort_order: 'desc' } as const

/** Returns the faults of a query, and the cursor from which its page starts. */
function start(
  query: Partial<PageQuery> & Record<string, unknown>,
  as: PageRequest['caller'] = caller,
  of = list,
) {
  const faults: [string[], string][] = []
  const from = pageStartOf(of, { caller: as, query, faulty: new Set() }, (loc, why) => {
    if (why) faults.push([[...loc], why])
  })
  return { from, faults }
}

const more = {
  items: [
    { id: 6, name: 'b' },
    { id: 5, name: 'a' },
  ],
  more: true,
  total: 30,
  estimated: false,
}
const nextOf = (query: object = QUERY, as: PageRequest['caller'] = caller, of = list) =>
  toPage({ list: of, caller: as, query: query as PageQuery, from: undefined }, more).next as string

describe('the query parameters of a page', () => {
  test('limit the size of a page, and have defaults', () => {
    expect(list.query.page).toMatchObject({ type: 'integer', minimum: 1 })
    expect(list.query.limit).toMatchObject({ minimum: 1, maximum: 100, default: 20 })
    expect(list.query.sort_by).toMatchObject({ enum: ['id', 'name', 'made_at'], default: 'name' })
    expect(list.query.sort_order).toMatchObject({ enum: ['asc', 'desc'], default: 'desc' })
    expect(list.query.after).toMatchObject({ type: 'string' })
  })

  test.each([
    [100, 100],
    [10_000, 1],
    [500, 20],
  ])('accept page %i of %i records each', (page, limit) => {
    expect(start({ ...QUERY, page, limit })).toEqual({ from: undefined, faults: [] })
  })

  test.each([
    [101, 100],
    [10_001, 1],
    [1_000_000_000, 20],
    [Number.MAX_SAFE_INTEGER, 100],
  ])(
    'are rejected for page %i of %i records each, with the advice to use `after`',
    (page, limit) => {
      const { faults } = start({ ...QUERY, page, limit })
      expect(faults).toEqual([[['query', 'page'], expect.stringMatching(/10000.*\bafter\b/)]])
    },
  )

  test('are rejected if `page` and `after` are both present', () => {
    expect(start({ ...QUERY, page: 1, after: nextOf() }).faults).toEqual([
      [['query', 'page'], expect.stringMatching(/page or after/)],
    ])
  })
})

describe('a cursor', () => {
  test('points after the last record, and keeps the total and page number', () => {
    expect(start({ ...QUERY, after: nextOf() }).from).toEqual({
      key: ['a', 5],
      page: 2,
      total: 30,
      estimated: false,
    })
  })

  test('contains only the ID if the list is sorted by ID', () => {
    const byId = { ...QUERY, sort_by: 'id' }
    expect(start({ ...byId, after: nextOf(byId) }).from?.key).toEqual([5])
  })

  test('may contain the longest name, even if each character has two code units', () => {
    const name = '\u{1f600}'.repeat(200)
    const page = { ...more, items: [{ id: Number.MAX_SAFE_INTEGER, name }] }
    const asked = { list, caller, query: QUERY, from: undefined }
    const after = toPage(asked, page).next as string
    expect(after.length).toBeLessThanOrEqual(MAX_CURSOR)
    expect(start({ ...QUERY, after }).from?.key).toEqual([name, Number.MAX_SAFE_INTEGER])
  })

  test('is accepted with another page size', () => {
    expect(start({ ...QUERY, limit: 3, after: nextOf() }).faults).toEqual([])
  })

  const foreign: [string, object, PageRequest['caller']?, typeof list?][] = [
    ['of another sort column', { sort_by: 'id' }],
    ['of another order', { sort_order: 'asc' }],
    ['of a list with other filters', { search: 'x' }],
    ['of another tenant', {}, { role: 'admin', tenant_id: 5 }],
    ['of all tenants', {}, { role: 'superadmin', tenant_id: 4 }],
    ['of another list', {}, caller, { ...list, name: 'others' }],
  ]
  test.each(foreign)('%s is rejected', (_, change, as, of) => {
    const query = { ...QUERY, ...change }
    expect(start({ ...query, after: nextOf() }, as, of)).toEqual({
      from: undefined,
      faults: [[['query', 'after'], expect.stringMatching(/next/)]],
    })
    // The list that created a cursor accepts it.
    expect(start({ ...query, after: nextOf(query, as, of) }, as, of).faults).toEqual([])
  })

  const parts = (change: (parts: unknown[]) => unknown) => {
    const made = JSON.parse(Buffer.from(nextOf(), 'base64url').toString())
    return Buffer.from(JSON.stringify(change(made))).toString('base64url')
  }
  const at = (index: number, value: unknown) => parts((made) => made.with(index, value))
  test.each([
    ['characters that encode no value', '-'],
    ['characters outside base64', '=#!'],
    ['truncated JSON', Buffer.from('[1,').toString('base64url')],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe]).toString('base64url')],
    ['an object', parts(() => ({}))],
    ['null', parts(() => null)],
    ['too few values', parts((made) => made.slice(0, -1))],
    ['too many values', parts((made) => [...made, 1])],
    ['a sort key of another type', at(4, 7)],
    ['a sort key that is an object', at(4, { a: 1 })],
    ['a NUL in the sort key', at(4, 'a\0b')],
    ['half a character in the sort key', at(4, 'a\ud800')],
    ['a sort key that is too long', at(4, 'a'.repeat(513))],
    ['an ID that is text', at(5, '5')],
    ['an ID that is a fraction', at(5, 1.5)],
    ['an ID above 2^53 - 1', at(5, 2 ** 60)],
    ['a negative page', at(1, -1)],
    ['a total that is text', at(2, '30; drop table users')],
    ['an invalid estimate flag', at(3, 2)],
    ['a missing digest', at(0, null)],
  ])('is rejected if forged with %s', (_, after) => {
    expect(start({ ...QUERY, after })).toMatchObject({
      from: undefined,
      faults: [[['query', 'after'], expect.stringMatching(/next/)]],
    })
  })

  test.each([
    '2026-11-21',
    '2026-11-21T25:00:00.000Z',
    '2026-02-31T00:00:00.000Z',
    'infinity',
    '+275760-09-13T00:00:00.000Z',
    '0000-01-01T00:00:00.000Z',
  ])('is rejected if forged with the time %s', (time) => {
    const cursor = { key: [time, 1], page: 2, total: 3, estimated: false }
    expect(readCursor('b', ['time', 'integer'], writeCursor('b', cursor))).toBeUndefined()
  })

  test('is not checked if another query parameter is invalid', () => {
    const given = { caller, query: { ...QUERY, after: '-' }, faulty: new Set(['query.role']) }
    const refused: string[] = []
    pageStartOf(list, given, (_loc, why) => why && refused.push(why))
    expect(refused).toEqual([])
  })
})

describe('a page', () => {
  const asked = { list, caller, query: { ...QUERY, page: 3 }, from: undefined }
  const items = [{ id: 1, name: 'a' }]

  test.each([
    [0, 20, 0],
    [1, 20, 1],
    [20, 20, 1],
    [21, 20, 2],
    [10_000, 100, 100],
    [7, 1, 7],
  ])('of %i records, with at most %i each, belongs to %i pages', (total, limit, pages) => {
    const found = { items, more: false, total, estimated: false }
    const page = toPage({ ...asked, query: { ...asked.query, limit } }, found)
    expect(page).toEqual({ items, total, page: 3, limit, pages, next: null })
  })

  test('marks its total only if that is an estimate, also on later pages', () => {
    const found = { items, more: true, total: 12_000, estimated: true }
    const page = toPage(asked, found)
    expect(page).toMatchObject({ total: 12_000, total_estimated: true })
    const { from } = start({ ...QUERY, after: page.next as string })
    expect(from).toMatchObject({ total: 12_000, estimated: true, page: 4 })
    expect(toPage({ ...asked, from }, found)).toMatchObject({ page: 4 })
    expect(toPage(asked, { ...found, estimated: false })).not.toHaveProperty('total_estimated')
  })

  test('declares every field as required, except `estimated`', () => {
    const schema = pageOf(Type.String()) as unknown as { required: string[]; properties: object }
    const always = ['items', 'limit', 'next', 'page', 'pages', 'total']
    expect(Object.keys(schema.properties).sort()).toEqual([...always, 'total_estimated'].sort())
    expect([...schema.required].sort()).toEqual(always)
  })
})
