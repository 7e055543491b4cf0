/** Reads one page of a filtered list with its total, counting no more than it has to. */
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Cursor } from '../../lib/cursor.ts'
import {
  type Asked,
  EXACT_TOTAL,
  type Found,
  keyOf,
  type List,
  type PageQuery,
} from '../../lib/page.ts'
import { isUnchangedSince } from './list-writes.ts'
import type { ListMode, TenantTx } from './scope.ts'
import type { Counted } from './totals.ts'

/** One more than the largest page: whatever the limit is, the planner knows that few rows are wanted. */
const MAX_ROWS = 101

interface Options {
  /** The columns of sortable fields that have another name in the table. */
  columns?: Record<string, string>
  /** The tables whose writes are noted and decide the total; without them it is always counted. */
  countedIn?: readonly string[]
}

/** How to run a list: planned once where no value can mislead the planner, else for its values. */
export function listMode(query: PageQuery): ListMode {
  return (query.page ?? 1) === 1 && filtersOf(query).length === 0 ? 'list' : 'filtered list'
}

/** The filters of a query by name. The tenant is none: it is the scope. */
function filtersOf(query: PageQuery): [string, unknown][] {
  const { page: _p, limit: _l, sort_by: _s, sort_order: _o, after: _a, ...others } = query
  return Object.entries(others)
    .filter(([name, value]) => value !== undefined && name !== 'tenant_id')
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

/**
 * @param filtered the list's rows with every filter and column, but no order or limit. The sort
 *   column and the id are an index's columns behind its scope, or every page sorts the whole list
 */
export async function readPage<DB, TB extends keyof DB, O>(
  tx: TenantTx,
  filtered: SelectQueryBuilder<DB, TB, O>,
  { list, query, from }: Asked,
  { columns = {}, countedIn = [] }: Options = {},
): Promise<Found<O>> {
  const memory = countedIn.length > 0 ? memoryOf(tx, list, query) : undefined
  const known = from ? undefined : memory?.get()
  const unchanged = known && isUnchangedSince(tx, countedIn, known.snapshot)
  const ordered = orderedRows(filtered, query, columns, from)
  // A left join keeps the word on the total when the page is empty.
  const { rows } = unchanged
    ? await sql<O & { wk_row?: true | null; wk_unchanged?: boolean }>`
        select u.wk_unchanged, p.* from (select ${unchanged} as wk_unchanged) u
          left join lateral (select true as wk_row, q.* from (${ordered}) q) p on true`.execute(
        tx.db,
      )
    : await sql<O & { wk_row?: true; wk_unchanged?: boolean }>`${ordered}`.execute(tx.db)
  const isStill = rows[0]?.wk_unchanged === true
  const found = rows
    .filter((row) => row.wk_row !== null)
    .map(({ wk_row: _row, wk_unchanged: _unchanged, ...item }) => item as O)
  const more = found.length > query.limit
  const page = { items: found.slice(0, query.limit), more }

  if (from) return { ...page, total: from.total, estimated: from.estimated }
  if (known && isStill) return { ...page, total: known.total, estimated: known.estimated }
  // A page that ends the list tells how long it is.
  const offset = offsetOf(query)
  if (!more && (found.length > 0 || offset === 0))
    return { ...page, total: offset + found.length, estimated: false }
  const counted = await countRows(tx, filtered)
  memory?.set(counted)
  return { ...page, total: counted.total, estimated: counted.estimated }
}

function offsetOf({ page = 1, limit }: PageQuery): number {
  return (page - 1) * limit
}

/** The rows of the page in their order, and one more where there are more. */
function orderedRows<DB, TB extends keyof DB, O>(
  filtered: SelectQueryBuilder<DB, TB, O>,
  query: PageQuery,
  columns: Record<string, string>,
  from: Cursor | undefined,
) {
  const keys = keyOf(query.sort_by).map((field) => sql.ref(columns[field] ?? field))
  const behind = from ? isBehind(keys, query, from) : []
  const ordered = keys.reduce(
    (rows, key) => rows.orderBy(key, query.sort_order),
    behind.reduce((rows, condition) => rows.where(condition), filtered),
  )
  if (listMode(query) === 'filtered list')
    return sql`${ordered.limit(query.limit + 1).offset(offsetOf(query))}`
  // One plan for every limit: it has to know that few rows are wanted.
  return sql`select * from (${ordered.limit(sql.lit(MAX_ROWS))}) b limit ${query.limit + 1}`
}

function isBehind(
  keys: readonly RawBuilder<unknown>[],
  { sort_order }: PageQuery,
  { key }: Cursor,
) {
  const side = sql.raw(sort_order === 'asc' ? '>' : '<')
  const row = sql<boolean>`(${sql.join(keys)}) ${side} (${sql.join(key)})`
  // Said of the first column alone as well, it tells which partitions need not be looked at.
  return keys.length > 1 ? [sql<boolean>`${keys[0]} ${side}= ${key[0]}`, row] : [row]
}

/** Counts rows exactly up to where totals are, and estimates beyond: `filtered` has no order or limit. */
export async function countRows<DB, TB extends keyof DB, O>(
  tx: TenantTx,
  filtered: SelectQueryBuilder<DB, TB, O>,
): Promise<Counted> {
  const counted = filtered.clearSelect().select(sql`1`.as('one'))
  const { rows } = await sql<{ total: number; snapshot: string }>`
    select count(*) as total, pg_current_snapshot()::text as snapshot
    from (${counted.limit(sql.lit(EXACT_TOTAL + 1))}) m`.execute(tx.db)
  const { total, snapshot } = rows[0] as { total: number; snapshot: string }
  if (total <= EXACT_TOTAL) return { total, estimated: false, snapshot }
  const plan = await sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>`
    explain (format json) ${counted}`.execute(tx.db)
  const estimate = plan.rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? total
  return { total: Math.max(total, estimate), estimated: true, snapshot }
}

/** What the node remembers of the total of this list, for the transaction's scope and these filters. */
function memoryOf(tx: TenantTx, { name }: List, query: PageQuery) {
  const key = JSON.stringify([name, tx.tenantId, filtersOf(query)])
  return {
    get: () => tx.totals.get(key),
    set: (counted: Counted) => void tx.totals.set(key, counted),
  }
}

/** The LIKE pattern of text that contains `search`, whatever its case; its own wildcards are text. */
export function containing(search: string): string {
  return `%${search.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`
}
