/** Reads one page of a list with its total, counting no more than it has to. */
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { SortValue } from '../../lib/cursor.ts'
import { foldName } from '../../lib/fold.ts'
import { type Asked, EXACT_TOTAL, type Found, keyOf, type PageQuery } from '../../lib/page.ts'
import { isUnchangedSince } from './list-writes.ts'
import { type Statement, statement } from './statements.ts'
import { type Counted, OldTotal } from './totals.ts'
import type { ListMode, Scoped, TenantTx } from './transaction.ts'

/** One more than the largest page: whatever the limit is, the planner knows that few rows are wanted. */
const MAX_ROWS = 101

/** For how long an estimate is told again whose list's writes are not noted: counting up to where they begin costs most. */
const ESTIMATE_MS = 10_000

/**
 * The rows of a list with its columns, but no filter, order or limit. The sort column and the id are an
 * index's columns behind its scope, or every page sorts the whole list.
 */
type Rows<DB, TB extends keyof DB, O> = (scope: Scoped) => SelectQueryBuilder<DB, TB, O>

interface Options<DB, TB extends keyof DB, O> {
  /** Narrows the rows by filters that the query names; where there are none, nor a `narrowedTo`, this is not asked. */
  filter?: (rows: SelectQueryBuilder<DB, TB, O>) => SelectQueryBuilder<DB, TB, O>
  /** The columns of sortable fields that have another name in the table. */
  columns?: Record<string, string>
  /** What the total counts, where `rows` gives no more than the page can hold (`partOf`). */
  counted?: () => SelectQueryBuilder<DB, TB, O>
  /**
   * The tables whose writes are noted and decide the total; none where they are not noted, so that an estimate
   * alone is remembered. Left out where the total depends on more than scope, query and `narrowedTo`.
   */
  countedIn?: readonly string[]
  /**
   * Names what `filter` narrows the rows by that the query does not say, such as what its caller may see; null where
   * that is another each time. Left out where it is nothing.
   */
  narrowedTo?: string | null
  /** Whether the page is all that its transaction asks for, which may end with it. */
  isAll?: boolean
  /** Whether few rows are expected, whom one page shows: only where there are more is the work run again, and counts. */
  areFew?: boolean
}

/** How to run a list: planned once where no value can mislead the planner, else for its values. */
export function listMode(query: PageQuery): ListMode {
  return (query.page ?? 1) === 1 && filtersOf(query).length === 0 ? 'list' : 'filtered list'
}

/** What a query has beside its filters. The tenant is none: it is the scope. */
const NO_FILTERS = new Set(['page', 'limit', 'sort_by', 'sort_order', 'after', 'tenant_id'])

/** The filters of a query by name. */
function filtersOf(query: PageQuery): [string, unknown][] {
  return Object.entries(query)
    .filter(([name, value]) => !NO_FILTERS.has(name) && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

/** @throws OldTotal where the remembered total, or that there are few, is not true any more: the work is to run again */
export async function readPage<DB, TB extends keyof DB, O>(
  tx: TenantTx,
  asked: Asked,
  rows: Rows<DB, TB, O>,
  options: Options<DB, TB, O> = {},
): Promise<Found<O>> {
  const { filter = (all) => all, columns = {}, countedIn, narrowedTo, isAll = false } = options
  const { query, from } = asked
  const areFew = isAll && options.areFew && !tx.isAgain
  const isCounted = countedIn !== undefined && narrowedTo !== null
  const memory = isCounted ? memoryOf(tx, asked, countedIn, narrowedTo) : undefined
  const known = from || tx.isAgain ? undefined : memory?.get()
  const sent = tx.sendFor<O>(
    listMode(query) === 'list' && narrowedTo === undefined
      ? plannedOnce(rows, tx, asked, columns)
      : inOrder(filter(rows(tx)), query, columns, from?.key)
          .limit(query.limit + 1)
          .offset(offsetOf(query))
          .compile(),
  )
  // Only an estimate is remembered of a list whose writes are not noted.
  const isTold = countedIn?.length === 0
  const unchanged = known && !isTold && isUnchangedSince(tx, countedIn ?? [], known.snapshot)
  // Nothing is left to ask, unless that total is not the one any more.
  if (isAll && (from || known || areFew)) tx.end()
  const found = await sent.rows
  const more = found.length > query.limit
  const page = { items: found.slice(0, query.limit), more }

  if (from) return { ...page, total: from.total, estimated: from.estimated }
  // A page that ends the list tells how long it is.
  const offset = offsetOf(query)
  if (!more && (found.length > 0 || offset === 0))
    return { ...page, total: offset + found.length, estimated: false }
  // Behind its end a list is shorter than was estimated.
  const isStill = unchanged ? (await unchanged.rows)[0]?.is_unchanged : found.length > 0
  if (known && isStill) return { ...page, total: known.total, estimated: known.estimated }
  if (known) throw new OldTotal('a remembered total is old')
  if (areFew) throw new OldTotal('more than a page was found')
  const counted = await countRows(tx, options.counted?.() ?? filter(rows(tx)))
  memory?.set(counted)
  return { ...page, total: counted.total, estimated: counted.estimated }
}

/**
 * The rows of one part of a list that can be in the page, for a list that is a union of parts: each is then
 * read along an index of its own, as far as needed.
 */
export const partOf = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { query, from }: Asked,
  columns: Record<string, string> = {},
): SelectQueryBuilder<DB, TB, O> =>
  inOrder(rows, query, columns, from?.key).limit(offsetOf(query) + query.limit + 1)

function offsetOf({ page = 1, limit }: PageQuery): number {
  return (page - 1) * limit
}

/** The rows in their order, those behind the key alone where there is one. */
function inOrder<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { sort_by, sort_order }: Pick<PageQuery, 'sort_by' | 'sort_order'>,
  columns: Record<string, string>,
  key: Key | undefined,
): SelectQueryBuilder<DB, TB, O> {
  const keys = keyOf(sort_by).map((field) => sql.ref(columns[field] ?? field))
  const behind = key ? isBehind(keys, sort_order, key) : []
  return keys.reduce(
    (ordered, column) => ordered.orderBy(column, sort_order),
    behind.reduce((narrowed, condition) => narrowed.where(condition), rows),
  )
}

/** Where the page before ended: its values, or the places of such. */
type Key = readonly (SortValue | RawBuilder<SortValue>)[]

function isBehind(
  columns: readonly RawBuilder<unknown>[],
  order: PageQuery['sort_order'],
  key: Key,
): RawBuilder<boolean>[] {
  const side = sql.raw(order === 'asc' ? '>' : '<')
  const row = sql<boolean>`(${sql.join(columns)}) ${side} (${sql.join(key)})`
  // Said of the first column alone as well, it tells which partitions need not be looked at.
  return columns.length > 1 ? [sql<boolean>`${columns[0]} ${side}= ${key[0]}`, row] : [row]
}

interface OnceValues {
  tenantId: number
  limit: number
  first: SortValue
  second: SortValue
}

type Once = (values: OnceValues) => Statement

/**
 * The statements of lists without filters, which take longer to build than to run: by the function that
 * makes their rows, as one that knows more than the scope is another one for each request.
 */
const built = new WeakMap<object, Map<string, Once>>()

/** The statement of a page that has one plan for every tenant, place and limit. */
function plannedOnce<DB, TB extends keyof DB, O>(
  rows: Rows<DB, TB, O>,
  { tenantId }: TenantTx,
  { query, from }: Asked,
  columns: Record<string, string>,
): Statement {
  const { sort_by, sort_order, limit } = query
  const shape = `${tenantId === null} ${sort_by} ${sort_order} ${from !== undefined}`
  const shapes = built.get(rows) ?? new Map<string, Once>()
  built.set(rows, shapes)
  let once = shapes.get(shape)
  if (!once) {
    once = statement<OnceValues>((value, db) => {
      // In its place any number would do: a scope differs from another by this value alone.
      const tenant = tenantId === null ? null : (value('tenantId') as unknown as number)
      const key = [value('first'), value('second')].slice(0, keyOf(sort_by).length)
      const ordered = inOrder(rows({ db, tenantId: tenant }), query, columns, from && key)
      return sql`select * from (${ordered.limit(sql.lit(MAX_ROWS))}) b limit ${value('limit')}`
    })
    shapes.set(shape, once)
  }
  const [first = 0, second = 0] = from?.key ?? []
  return once({ tenantId: tenantId ?? 0, limit: limit + 1, first, second })
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
function memoryOf(
  tx: TenantTx,
  { list, query }: Asked,
  countedIn: readonly string[],
  narrowedTo = '',
) {
  const key = JSON.stringify([list.name, tx.tenantId, narrowedTo, filtersOf(query)])
  return {
    get: () => tx.totals.get(key),
    set(counted: Counted) {
      if (countedIn.length > 0) tx.totals.set(key, counted)
      else if (counted.estimated) tx.totals.set(key, counted, { ttl: ESTIMATE_MS })
    },
  }
}

/**
 * Returns the condition that a column of folded names contains the search, or contains it as it was typed in lower case,
 * which finds addresses.
 */
export function containsName(
  column: string | RawBuilder<unknown>,
  search: string,
): RawBuilder<boolean> {
  const searched = typeof column === 'string' ? sql.ref(column) : column
  const folded = foldName(search)
  const typed = sql<boolean>`${searched} like ${containing(search)}`
  return folded === '' || folded === search
    ? typed
    : sql<boolean>`(${searched} like ${containing(folded)} or ${typed})`
}

/**
 * The LIKE pattern of text that contains `search`, whatever its case; its own wildcards are text. PostgreSQL lowers it,
 * as it does what is looked through: JavaScript has other small letters for some (Σ, İ).
 */
export function containing(search: string): RawBuilder<string> {
  return sql<string>`lower(${`%${search.replaceAll(/[\\%_]/g, '\\$&')}%`}::text)`
}
