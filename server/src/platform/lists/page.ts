/** Reads one page of a list with its total, and counts rows only if necessary. */
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { SortValue } from '../../lib/cursor.ts'
import { foldName } from '../../lib/fold.ts'
import {
  EXACT_TOTAL,
  type Found,
  type PageQuery,
  type PageRequest,
  sortKeyOf,
} from '../../lib/page.ts'
import { type Statement, statement } from '../db/statements.ts'
import type { ListMode, Scoped, TenantTx } from '../db/transaction.ts'
import { isUnchangedSince } from './list-writes.ts'
import { type Counted, OldTotal } from './totals.ts'

/** One more than the largest page size. With this constant limit, the planner assumes few rows for any page size. */
const MAX_ROWS = 101

/** How long an estimated total is reused if writes are not recorded, because counting up to the limit is expensive. */
const ESTIMATE_MS = 10_000

/**
 * Selects all rows of a list and its columns, without filter, order or limit. The table needs an index on the tenant,
 * the sort column and the id, in this order. Without this index, every page would sort the whole list.
 */
type Rows<DB, TB extends keyof DB, O> = (scope: Scoped) => SelectQueryBuilder<DB, TB, O>

interface Options<DB, TB extends keyof DB, O> {
  /** Applies the query's filters. Not called if there are no filters and no `narrowedTo`. */
  filter?: (rows: SelectQueryBuilder<DB, TB, O>) => SelectQueryBuilder<DB, TB, O>
  /** Maps the sortable fields to their columns, if the names differ. */
  columns?: Record<string, string>
  /** The rows that are counted for the total. Required if `rows` is limited to the rows of a page (`partOf`). */
  counted?: () => SelectQueryBuilder<DB, TB, O>
  /**
   * The tables whose recorded writes invalidate a cached total. An empty list means that writes are not recorded, so
   * only estimates are cached. If undefined, no total is cached. This is required if the total depends on more than
   * scope, query and `narrowedTo`.
   */
  countedIn?: readonly string[]
  /**
   * Identifies the criteria of `filter` that are not in the query, such as the rows that the caller may see. Null if
   * the criteria differ for each call. Undefined if there are none.
   */
  narrowedTo?: string | null
  /** Whether the page is the only work of its transaction. The transaction may then end early. */
  isAll?: boolean
  /**
   * Whether all rows are expected to fit on one page. If there are more, the transaction runs again and counts them.
   */
  areFew?: boolean
}

/**
 * Returns the mode for reading a list. The first page without filters is planned once, and other pages for each set of
 * values.
 */
export function listMode(query: PageQuery): ListMode {
  return (query.page ?? 1) === 1 && filtersOf(query).length === 0 ? 'list' : 'filtered list'
}

/** The query parameters that are not filters. `tenant_id` sets the scope instead. */
const NO_FILTERS = new Set(['page', 'limit', 'sort_by', 'sort_order', 'after', 'tenant_id'])

/** Returns the filters of a query by name. */
function filtersOf(query: PageQuery): [string, unknown][] {
  return Object.entries(query)
    .filter(([name, value]) => !NO_FILTERS.has(name) && value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

/**
 * Reads the page `asked` and its total.
 * @throws OldTotal if the cached total is outdated, or if there are more rows than `areFew` allows. The work must then
 * run again.
 */
export async function readPage<DB, TB extends keyof DB, O>(
  tx: TenantTx,
  asked: PageRequest,
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
  // If writes are not recorded, only an estimate is cached. It is used until it is too old.
  const isTold = countedIn?.length === 0
  const unchanged = known && !isTold && isUnchangedSince(tx, countedIn ?? [], known.snapshot)
  // Ends the transaction early, because only an outdated cached total would require another query.
  if (isAll && (from || known || areFew)) tx.end()
  const found = await sent.rows
  const more = found.length > query.limit
  const page = { items: found.slice(0, query.limit), more }

  if (from) return { ...page, total: from.total, estimated: from.estimated }
  // The last page of a list shows how long the list is.
  const offset = offsetOf(query)
  if (!more && (found.length > 0 || offset === 0))
    return { ...page, total: offset + found.length, estimated: false }
  // A page after the end shows that the list is shorter than estimated.
  const isStill = unchanged ? (await unchanged.rows)[0]?.is_unchanged : found.length > 0
  if (known && isStill) return { ...page, total: known.total, estimated: known.estimated }
  if (known) throw new OldTotal('a remembered total is old')
  if (areFew) throw new OldTotal('more than a page was found')
  const counted = await countRows(tx, options.counted?.() ?? filter(rows(tx)))
  memory?.set(counted)
  return { ...page, total: counted.total, estimated: counted.estimated }
}

/**
 * Limits one part of a union to the rows that the page may contain. PostgreSQL then reads only these rows of the part,
 * using its index.
 */
export const partOf = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { query, from }: PageRequest,
  columns: Record<string, string> = {},
): SelectQueryBuilder<DB, TB, O> =>
  inOrder(rows, query, columns, from?.key).limit(offsetOf(query) + query.limit + 1)

function offsetOf({ page = 1, limit }: PageQuery): number {
  return (page - 1) * limit
}

/** Sorts the rows. If a key is given, keeps only the rows after it. */
function inOrder<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  { sort_by, sort_order }: Pick<PageQuery, 'sort_by' | 'sort_order'>,
  columns: Record<string, string>,
  key: Key | undefined,
): SelectQueryBuilder<DB, TB, O> {
  const keys = sortKeyOf(sort_by).map((field) => sql.ref(columns[field] ?? field))
  const behind = key ? isBehind(keys, sort_order, key) : []
  return keys.reduce(
    (ordered, column) => ordered.orderBy(column, sort_order),
    behind.reduce((narrowed, condition) => narrowed.where(condition), rows),
  )
}

/** The sort values of the previous page's last row, or placeholders for these values. */
type Key = readonly (SortValue | RawBuilder<SortValue>)[]

function isBehind(
  columns: readonly RawBuilder<unknown>[],
  order: PageQuery['sort_order'],
  key: Key,
): RawBuilder<boolean>[] {
  const side = sql.raw(order === 'asc' ? '>' : '<')
  const row = sql<boolean>`(${sql.join(columns)}) ${side} (${sql.join(key)})`
  // With a separate condition on the first column, the planner can skip partitions.
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
 * Caches the statements of lists without filters, which take longer to build than to run. The cache key is the `rows`
 * function. If a `rows` function depends on more than the scope, a new one is created per request, so its statements
 * are never reused.
 */
const built = new WeakMap<object, Map<string, Once>>()

/** Returns the statement of a page. All tenants, positions and limits share one plan. */
function plannedOnce<DB, TB extends keyof DB, O>(
  rows: Rows<DB, TB, O>,
  { tenantId }: TenantTx,
  { query, from }: PageRequest,
  columns: Record<string, string>,
): Statement {
  const { sort_by, sort_order, limit } = query
  const shape = `${tenantId === null} ${sort_by} ${sort_order} ${from !== undefined}`
  const shapes = built.get(rows) ?? new Map<string, Once>()
  built.set(rows, shapes)
  let once = shapes.get(shape)
  if (!once) {
    once = statement<OnceValues>((value, db) => {
      // Uses a placeholder as the tenant, because the statements of tenants differ only in this value.
      const tenant = tenantId === null ? null : (value('tenantId') as unknown as number)
      const key = [value('first'), value('second')].slice(0, sortKeyOf(sort_by).length)
      const ordered = inOrder(rows({ db, tenantId: tenant }), query, columns, from && key)
      return sql`select * from (${ordered.limit(sql.lit(MAX_ROWS))}) b limit ${value('limit')}`
    })
    shapes.set(shape, once)
  }
  const [first = 0, second = 0] = from?.key ?? []
  return once({ tenantId: tenantId ?? 0, limit: limit + 1, first, second })
}

/** Counts rows exactly up to `EXACT_TOTAL`, and estimates larger totals. `filtered` must have no order or limit. */
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

/** Returns functions to get and set the cached total of a list, for the transaction's scope and the query's filters. */
function memoryOf(
  tx: TenantTx,
  { list, query }: PageRequest,
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
 * Returns the SQL condition that a column of folded names contains the search term. Also matches the term in lower case
 * without folding, to find e-mail addresses.
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
 * Returns a lower-case LIKE pattern for text that contains `search`, with its wildcards escaped. PostgreSQL converts
 * the pattern to lower case, because JavaScript converts some letters differently (Σ, İ).
 */
export function containing(search: string): RawBuilder<string> {
  return sql<string>`lower(${`%${search.replaceAll(/[\\%_]/g, '\\$&')}%`}::text)`
}
