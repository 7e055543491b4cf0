/** Reads one page of a filtered list together with its total, in one statement (two when large). */
import { type SelectQueryBuilder, sql } from 'kysely'
import { EXACT_TOTAL, type PageQuery } from '../../lib/page.ts'
import type { TenantTx } from './scope.ts'

/** What a page read answers; `estimated` when the total is the planner's. */
export interface Found<T> {
  items: T[]
  total: number
  estimated: boolean
}

/**
 * @param filtered the list's rows with every filter and column, but no order or limit
 * @param sort the column to sort by, and those that break its ties, so that pages never overlap;
 *   together they are an index's columns, or every page sorts the whole list
 */
export async function readPage<DB, TB extends keyof DB, O>(
  tx: TenantTx,
  filtered: SelectQueryBuilder<DB, TB, O>,
  query: PageQuery,
  sort: { column: string; ties: readonly string[] },
): Promise<Found<O>> {
  // Which index is best depends on the values: a plan for any of them would be a trap here.
  tx.send(sql`set local plan_cache_mode = force_custom_plan`.compile(tx.db))
  const keys = [...new Set([sort.column, ...sort.ties])]
  const page = keys
    .reduce((sorted, key) => sorted.orderBy(sql.ref(key), query.sort_order), filtered)
    .limit(query.limit)
    .offset((query.page - 1) * query.limit)
  const counted = filtered.clearSelect().select(sql`1`.as('one'))
  const exact = counted.limit(EXACT_TOTAL + 1)
  // A left join keeps the count when the page lies behind the end.
  const { rows } = await sql<O & { wk_total: number; wk_row: boolean | null }>`
    select c.wk_total, p.* from
      (select count(*) as wk_total from ${exact} m) c
      left join lateral (select true as wk_row, q.* from ${page} q) p on true`.execute(tx.db)
  const total = rows[0]?.wk_total ?? 0
  const items = rows
    .filter((row) => row.wk_row)
    .map(({ wk_total: _total, wk_row: _row, ...item }) => item as O)
  if (total <= EXACT_TOTAL) return { items, total, estimated: false }
  const plan = await sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>`
    explain (format json) ${counted}`.execute(tx.db)
  const estimate = plan.rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? total
  return { items, total: Math.max(total, estimate), estimated: true }
}

/** The LIKE pattern of text that contains `search`, whatever its case; its own wildcards are text. */
export function containing(search: string): string {
  return `%${search.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`
}
