/** The pages of a list, as every list operation takes and answers them (decisions §1). */
import Type, { type Static, type TSchema } from 'typebox'
import {
  type Cursor,
  MAX_CURSOR,
  readCursor,
  type SortKind,
  type SortValue,
  writeCursor,
} from './cursor.ts'
import type { Refuse } from './problems.ts'
import type { Role } from './roles.ts'
import { OneOf } from './shapes.ts'

/** Totals are exact up to here; beyond, an estimate marked as such. */
export const EXACT_TOTAL = 10_000

/** How deep `page` reaches, in records; `after` reaches any depth. */
export const DEEPEST_PAGE = 10_000

/** What a page query holds once its defaults are in. */
export interface PageQuery<S extends string = string> {
  /** The first page where neither this nor `after` is given. */
  page?: number
  limit: number
  sort_by: S
  sort_order: 'asc' | 'desc'
  after?: string
}

/** A list as data: what it can be sorted by, and what its cursors belong to. */
export interface List<S extends string = string> {
  readonly name: string
  readonly sortable: Readonly<Record<S, SortKind>>
  /** Functions that return the sort key of a field, where the key differs from the value: names. */
  readonly orderedBy: Readonly<Record<string, (value: string) => string>>
  /** The query parameters that every list takes. */
  readonly query: ReturnType<typeof queryOf<S>>
}

/**
 * @param name tells the cursors of one list from those of another
 * @param sortable the sortable fields; `id`, which is one of them, breaks the ties of the others
 * @param orderedBy what fields are ordered by, as their columns hold it (`readPage`)
 */
export function defineList<const S extends string>(
  name: string,
  sortable: Readonly<Record<S, SortKind>>,
  defaults: { sort_by: NoInfer<S>; sort_order: 'asc' | 'desc' },
  orderedBy: List['orderedBy'] = {},
): List<S> {
  return { name, sortable, orderedBy, query: queryOf<S>(sortable, defaults) }
}

function queryOf<S extends string>(
  sortable: Readonly<Record<S, SortKind>>,
  defaults: { sort_by: S; sort_order: 'asc' | 'desc' },
) {
  return {
    page: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: `The number of the page, the first by default. \`page\` × \`limit\` is at most ${DEEPEST_PAGE}.`,
      }),
    ),
    limit: Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 20,
      description: 'The number of records on a page.',
    }),
    sort_by: OneOf(Object.keys(sortable) as S[], {
      default: defaults.sort_by,
      description: 'The field to sort by.',
    }),
    sort_order: OneOf(['asc', 'desc'], {
      default: defaults.sort_order,
      description: 'Ascending or descending.',
    }),
    after: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_CURSOR,
        description:
          '`next` of the previous page, in place of `page`. Repeat every other parameter except `limit`.',
      }),
    ),
  }
}

/** A page of a list as a caller asks for it. */
export interface Asked<Q extends PageQuery = PageQuery> {
  list: List
  caller: { role: Role; tenant_id: number }
  query: Q
  /** Where the page before ended; undefined for a page by its number. */
  from: Cursor | undefined
}

/** Nothing, where nothing can be found. */
export const NONE_FOUND: Found<never> = { items: [], more: false, total: 0, estimated: false }

/** The part of a request that pages are told by: what its schemas found right, and what not. */
interface Given {
  caller: Asked['caller']
  query: Partial<PageQuery>
  faulty: ReadonlySet<string>
}

/**
 * Where the page that is asked for begins: behind the cursor, or undefined for a page by its number.
 * Refuses what no schema can say of it.
 */
export function startOf(
  list: List,
  { caller, query, faulty }: Given,
  refuse: Refuse,
): Cursor | undefined {
  const { page, limit, after, sort_by } = query
  if (page !== undefined && after !== undefined)
    refuse(['query', 'page'], 'send either page or after, not both')
  else if (page !== undefined && limit !== undefined && page * limit > DEEPEST_PAGE)
    refuse(
      ['query', 'page'],
      `page × limit may be ${DEEPEST_PAGE} at most; go further with after, which takes the next of the page before`,
    )
  // What the cursor has to agree with is not known where something of it is wrong.
  if (after === undefined || sort_by === undefined || faulty.size > 0) return undefined
  const kinds = keyOf(sort_by).map((field) => list.sortable[field] as SortKind)
  const cursor = readCursor(bindingOf(list, caller, query), kinds, after)
  if (!cursor)
    refuse(
      ['query', 'after'],
      'send next as the page before had it, with its filters and its order',
    )
  return cursor
}

/** The fields that order a list together: ids break the ties of all others. */
export function keyOf(sortBy: string): readonly string[] {
  return sortBy === 'id' ? ['id'] : [sortBy, 'id']
}

/** What has to stay the same from page to page: the list, who sees it, its order and its filters. */
function bindingOf(
  list: List,
  { role, tenant_id }: Asked['caller'],
  query: Partial<PageQuery>,
): string {
  const { page: _page, limit: _limit, after: _after, ...fixed } = query
  const scope = role === 'superadmin' ? null : tenant_id
  return JSON.stringify([
    list.name,
    scope,
    Object.entries(fixed).sort(([a], [b]) => (a < b ? -1 : 1)),
  ])
}

/** The answer of a list of `item`. */
export function pageOf<T extends TSchema>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    total: Type.Integer({ minimum: 0, examples: [1] }),
    total_estimated: Type.Optional(Type.Boolean({ description: '`total` is an estimate.' })),
    page: Type.Integer({ examples: [1] }),
    limit: Type.Integer({ examples: [20] }),
    pages: Type.Integer({ examples: [1] }),
    next: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Send it as `after` to get the next page; null on the last page.',
      examples: [null],
    }),
  })
}

export type Page<T> = Omit<Static<ReturnType<typeof pageOf>>, 'items'> & { items: T[] }

/** What was found of a list: a page's records, and whether there are more behind them. */
export interface Found<T> {
  items: T[]
  more: boolean
  total: number
  estimated: boolean
}

/** Returns the value by which a record is in its place. */
function sortValue({ orderedBy }: List, record: object, field: string): SortValue {
  const value = (record as Record<string, SortValue>)[field] as SortValue
  const keyed = orderedBy[field]
  return keyed ? keyed(String(value)) : value
}

/** Puts what was found together as the page that was asked for. */
export function toPage<T extends { id: number }>(
  { list, caller, query, from }: Asked,
  { items, more, total, estimated }: Found<T>,
): Page<T> {
  const page = from?.page ?? query.page ?? 1
  const last = more ? items.at(-1) : undefined
  const key = last && keyOf(query.sort_by).map((field) => sortValue(list, last, field))
  return {
    items,
    total,
    ...(estimated ? { total_estimated: true } : {}),
    page,
    limit: query.limit,
    pages: Math.ceil(total / query.limit),
    next: key
      ? writeCursor(bindingOf(list, caller, query), { key, page: page + 1, total, estimated })
      : null,
  }
}
