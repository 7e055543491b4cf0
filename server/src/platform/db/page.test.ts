/** A page of a list and its total: ties, pages beyond the end, many rows, and text with wildcards. */
import { type Kysely, sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { atTheEnd } from '../../../test/support/at-the-end.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { defineList, EXACT_TOTAL } from '../../lib/page.ts'
import { systemTime } from '../../lib/time.ts'
import { containing, readPage } from './page.ts'
import { openScopes, type Scopes } from './scope.ts'
import type { TenantTx } from './transaction.ts'

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
  // All of a kind share their label: ties everywhere.
  await database.sql(`insert into things
    select n, case when n <= 45 then 'few' else 'many' end, 'same' from generate_series(1, ${45 + MANY}) n`)
  await database.sql('analyze things')
  const nothing = () => undefined
  db = openScopes(database.address, {
    clock: systemTime,
    size: 2,
    log: silentLog,
    changes: {
      invalidate: nothing,
      notify: nothing,
      subscribe: () => nothing,
      trusted: () => true,
      isClosed: () => false,
      stop: async () => nothing(),
    },
  })
  atTheEnd(() => db.close())
})

const list = defineList(
  'things',
  { id: 'integer', label: 'text' },
  { sort_by: 'id', sort_order: 'asc' },
)

/** A page of the things of a kind, and how many statements it took. */
function pageOf(kind: string, page: number, limit = 20, sort_order: 'asc' | 'desc' = 'asc') {
  return db.acrossTenants(async (tx) => {
    let statements = 0
    const counted = tx.db.withPlugin({
      transformQuery: ({ node }) => node,
      // Once for each that was run; the other also sees the parts of a statement.
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

describe('the pages of a list', () => {
  test('hold every row once, although all sort the same', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const pages = await Promise.all([1, 2, 3].map((page) => pageOf('few', page, 20, order)))
      expect(pages.map(({ items }) => items.length)).toEqual([20, 20, 5])
      const ids = pages.flatMap(({ items }) => items.map(({ id }) => id))
      const inOrder = Array.from({ length: 45 }, (_, index) => index + 1)
      expect(ids).toEqual(order === 'asc' ? inOrder : inOrder.reverse())
    }
  })

  test('answer the columns asked for and nothing of the counting', async () => {
    const { items } = await pageOf('few', 1, 1)
    expect(items).toEqual([{ id: 1, label: 'same' }])
  })

  test.each([4, 1_000_000_000])(
    'beyond the end, as page %i, are empty and still know the total',
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

  test('say whether there are more behind them', async () => {
    expect(await pageOf('few', 2)).toMatchObject({ more: true })
    expect(await pageOf('few', 3)).toMatchObject({ more: false })
    expect(await pageOf('few', 1, 45)).toMatchObject({ more: false })
    expect(await pageOf('few', 1, 44)).toMatchObject({ more: true })
  })

  test('of an empty list are empty', async () => {
    expect(await pageOf('none', 1)).toMatchObject({ items: [], total: 0, estimated: false })
  })
})

describe('the total', () => {
  test('is not counted where the page ends the list', async () => {
    for (const [page, limit] of [
      [1, 45],
      [1, 100],
      [3, 20],
    ] as const)
      expect(await pageOf('few', page, limit)).toMatchObject({ total: 45, statements: 1 })
  })

  test('is exact in two statements up to the bound', async () => {
    expect(await pageOf('few', 1)).toMatchObject({ total: 45, estimated: false, statements: 2 })
    await database.sql(`insert into things
      select -n, 'bound', 'same' from generate_series(1, ${EXACT_TOTAL}) n`)
    expect(await pageOf('bound', 1)).toMatchObject({
      total: EXACT_TOTAL,
      estimated: false,
      statements: 2,
    })
  })

  test('is an estimate beyond it, in three statements, and never below what was counted', async () => {
    const found = await pageOf('many', 2)
    expect(found).toMatchObject({ estimated: true, statements: 3 })
    expect(found.total).toBeGreaterThan(EXACT_TOTAL)
    expect(found.total).toBeLessThan(2 * MANY)
    expect(found.items).toHaveLength(20)
    // A planner that knows nothing of the rows must not make fewer of them than were seen.
    await database.sql(`insert into things
      select ${2 * MANY} + n, 'unseen', 'same' from generate_series(1, ${EXACT_TOTAL + 1}) n`)
    expect((await pageOf('unseen', 1)).total).toBeGreaterThan(EXACT_TOTAL)
  })
})

describe('a search for text', () => {
  test.each([
    ['100%', 'at 100% now', 'at 1000 now'],
    ['a_b', 'x a_b x', 'x acb x'],
    ['back\\slash', 'a back\\slash', 'a backslash'],
    ['\\', 'one \\ more', 'none'],
    ['Müller', 'Frau MÜLLER-Lüdenscheidt', 'Frau Muller'],
    ['', 'anything', null],
  ])(
    '"%s" finds what contains it, whatever the case, and nothing else',
    async (search, hit, miss) => {
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
    },
  )
})
