/**
 * Tests pages of a list and totals: equal sort values, pages beyond the end, many rows, and search text with wildcards.
 */
import { type Kysely, sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { atTheEnd } from '../../../test/support/cleanup.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { defineList, EXACT_TOTAL } from '../../lib/page.ts'
import { systemTime } from '../../lib/time.ts'
import { alone } from '../db/changes.ts'
import { openScopes, type Scopes } from '../db/scope.ts'
import type { TenantTx } from '../db/transaction.ts'
import { containing, readPage } from './page.ts'

interface Things {
  things: { id: number; kind: string; label: string }
}

let database: TestDatabase
let db: Scopes
const MANY = EXACT_TOTAL + 2_500

beforeAll(async () => {
  database = await migratedDatabase()
  await database.sql(`create table things (id bigint primary key, kind text not null, label text not null);
    grant select on things to wardkeep_app, wardkeep_platform`)
  // All rows of a kind have the same label, so all sort values are equal.
  await database.sql(`insert into things
    select n, case when n <= 45 then 'few' else 'many' end, 'same' from generate_series(1, ${45 + MANY}) n`)
  await database.sql('analyze things')
  db = openScopes(database.address, {
    clock: systemTime,
    size: 2,
    log: silentLog,
    changes: alone,
  })
  atTheEnd(() => db.close())
})

const list = defineList(
  'things',
  { id: 'integer', label: 'text' },
  { sort_by: 'id', sort_order: 'asc' },
)

/** Reads a page of the `things` of one kind, and counts the statements sent. */
function pageOf(kind: string, page: number, limit = 20, sort_order: 'asc' | 'desc' = 'asc') {
  return db.acrossTenants(async (tx) => {
    let statements = 0
    const counted = tx.db.withPlugin({
      transformQuery: ({ node }) => node,
      // This function runs once per statement. `transformQuery` would also run for the parts of a statement.
      async transformResult({ result }) {
        statements += 1
        return result
      },
    }) as unknown as Kysely<Things>
    const sendFor: TenantTx['sendFor'] = (query) => {
      statements += 1
      return tx.sendFor(query)
    }
    const asked = {
      list,
      caller: { role: 'superadmin' as const, tenant_id: 1 },
      query: { page, limit, sort_by: 'label' as const, sort_order },
      from: undefined,
    }
    const found = await readPage(
      { ...tx, db: counted, sendFor } as unknown as TenantTx,
      asked,
      (scope) =>
        (scope.db as unknown as Kysely<Things>)
          .selectFrom('things')
          .select(['id', 'label'])
          .where('kind', '=', kind),
    )
    return { ...found, statements }
  }, 'read')
}

describe('a page of a list', () => {
  test('contains every row once, although all sort values are equal', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const pages = await Promise.all([1, 2, 3].map((page) => pageOf('few', page, 20, order)))
      expect(pages.map(({ items }) => items.length)).toEqual([20, 20, 5])
      const ids = pages.flatMap(({ items }) => items.map(({ id }) => id))
      const inOrder = Array.from({ length: 45 }, (_, index) => index + 1)
      expect(ids).toEqual(order === 'asc' ? inOrder : inOrder.reverse())
    }
  })

  test('returns only the requested columns', async () => {
    const { items } = await pageOf('few', 1, 1)
    expect(items).toEqual([{ id: 1, label: 'same' }])
  })

  test.each([4, 1_000_000_000])(
    'beyond the end (page %i) is empty, and still returns the total',
    async (page) => {
      expect(await pageOf('few', page)).toEqual({
        items: [],
        total: 45,
        more: false,
        estimated: false,
        statements: 2,
      })
    },
  )

  test('reports whether more rows follow', async () => {
    expect(await pageOf('few', 2)).toMatchObject({ more: true })
    expect(await pageOf('few', 3)).toMatchObject({ more: false })
    expect(await pageOf('few', 1, 45)).toMatchObject({ more: false })
    expect(await pageOf('few', 1, 44)).toMatchObject({ more: true })
  })

  test('is empty for an empty list', async () => {
    expect(await pageOf('none', 1)).toMatchObject({ items: [], total: 0, estimated: false })
  })
})

describe('the total of a list', () => {
  test('is not counted if the page contains the end of the list', async () => {
    for (const [page, limit] of [
      [1, 45],
      [1, 100],
      [3, 20],
    ] as const)
      expect(await pageOf('few', page, limit)).toMatchObject({ total: 45, statements: 1 })
  })

  test('is exact up to the limit, and then needs two statements', async () => {
    expect(await pageOf('few', 1)).toMatchObject({ total: 45, estimated: false, statements: 2 })
    await database.sql(`insert into things
      select -n, 'bound', 'same' from generate_series(1, ${EXACT_TOTAL}) n`)
    expect(await pageOf('bound', 1)).toMatchObject({
      total: EXACT_TOTAL,
      estimated: false,
      statements: 2,
    })
  })

  test('is an estimate above the limit, never below the rows counted, and then needs three statements', async () => {
    const found = await pageOf('many', 2)
    expect(found).toMatchObject({ estimated: true, statements: 3 })
    expect(found.total).toBeGreaterThan(EXACT_TOTAL)
    expect(found.total).toBeLessThan(2 * MANY)
    expect(found.items).toHaveLength(20)
    // If the planner has no statistics, the estimate must not be lower than the number of rows that were counted.
    await database.sql(`insert into things
      select ${2 * MANY} + n, 'unseen', 'same' from generate_series(1, ${EXACT_TOTAL + 1}) n`)
    expect((await pageOf('unseen', 1)).total).toBeGreaterThan(EXACT_TOTAL)
  })
})

describe('a text search in a list', () => {
  test.each([
    ['100%', 'at 100% now', 'at 1000 now'],
    ['a_b', 'x a_b x', 'x acb x'],
    ['back\\slash', 'a back\\slash', 'a backslash'],
    ['\\', 'one \\ more', 'none'],
    ['Müller', 'Frau MÜLLER-Lüdenscheidt', 'Frau Muller'],
    ['', 'anything', null],
  ])('for "%s" finds only texts that contain it, ignoring case', async (search, hit, miss) => {
    const matches = async (text: string | null) => {
      const found = await db.acrossTenants(
        (tx) =>
          sql<{ hit: boolean | null }>`
            select lower(${text}::text) like ${containing(search)} as hit`.execute(tx.db),
        'read',
      )
      return found.rows[0]?.hit ?? false
    }
    expect(await matches(hit)).toBe(true)
    expect(await matches(miss)).toBe(false)
  })
})
