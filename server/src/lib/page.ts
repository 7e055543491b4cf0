/** Pages of a list, as all list operations accept and return them (decisions §1). */
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

/** The limit up to which totals are exact. Larger totals are estimates, and the response marks them as such. */
export const EXACT_TOTAL = 10_000

/** The number of the last record that `page` can reach. `after` has no such limit. */
export const DEEPEST_PAGE = 10_000

export interface PageQuery<S extends string = string> {
  /** The number of the page. The default is 1, unless `after` is set. */
  page?: number
  limit: number
  sort_by: S
  sort_order: 'asc' | 'desc'
  after?: string
}

/** The definition of a list: its sort fields and query parameters. */
export interface List<S extends string = string> {
  readonly name: string
  readonly sortable: Readonly<Record<S, SortKind>>
  /** Functions that compute the sort key of a field from its value, for fields such as names. */
  readonly orderedBy: Readonly<Record<string, (value: string) => string>>
  readonly query: ReturnType<typeof queryOf<S>>
}

/**
 * @param name keeps cursors of lists apart @param sortable includes `id` to break ties @param orderedBy see `readPage`
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
          'The `next` of the previous page, instead of `page`. Send all other parameters unchanged; only `limit` can differ.',
      }),
    ),
  }
}

export interface PageRequest<Q extends PageQuery = PageQuery> {
  list: List
  caller: { role: Role; tenant_id: number }
  query: Q
  /** The cursor at the end of the previous page. Undefined if the page was requested by number. */
  from: Cursor | undefined
}

export const NONE_FOUND: Found<never> = { items: [], more: false, total: 0, estimated: false }

/** The parts of a request that determine a page, and the paths of parameters that failed validation. */
interface PageInput {
  caller: PageRequest['caller']
  query: Partial<PageQuery>
  faulty: ReadonlySet<string>
}

/**
 * Returns the cursor after which a page starts, or undefined for a page by number. Rejects faults beyond the schema.
 */
export function pageStartOf(
  list: List,
  { caller, query, faulty }: PageInput,
  refuse: Refuse,
): Cursor | undefined {
  const { page, limit, after, sort_by } = query
  if (page !== undefined && after !== undefined)
    refuse(['query', 'page'], 'send either page or after, not both')
  else if (page !== undefined && limit !== undefined && page * limit > DEEPEST_PAGE)
    refuse(
      ['query', 'page'],
      `page × limit must be at most ${DEEPEST_PAGE}. To read further, send the next of the previous page as after`,
    )
  // If a parameter is invalid, the values that the cursor must match are not known.
  if (after === undefined || sort_by === undefined || faulty.size > 0) return undefined
  const kinds = sortKeyOf(sort_by).map((field) => list.sortable[field] as SortKind)
  const cursor = readCursor(bindingOf(list, caller, query), kinds, after)
  if (!cursor)
    refuse(
      ['query', 'after'],
      'invalid cursor. Send the next of the previous page unchanged, with the same filters and sort order',
    )
  return cursor
}

/** Returns the fields by which a list is ordered. The id comes last, to order records with equal values. */
export function sortKeyOf(sortBy: string): readonly string[] {
  return sortBy === 'id' ? ['id'] : [sortBy, 'id']
}

/** Returns the values that must stay the same from page to page: list, visible tenants, order and filters. */
function bindingOf(
  list: List,
  { role, tenant_id }: PageRequest['caller'],
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

export interface Found<T> {
  items: T[]
  more: boolean
  total: number
  estimated: boolean
}

function sortValue({ orderedBy }: List, record: object, field: string): SortValue {
  const value = (record as Record<string, SortValue>)[field] as SortValue
  const keyed = orderedBy[field]
  return keyed ? keyed(String(value)) : value
}

export function toPage<T extends { id: SortValue }>(
  { list, caller, query, from }: PageRequest,
  { items, more, total, estimated }: Found<T>,
): Page<T> {
  const page = from?.page ?? query.page ?? 1
  const last = more ? items.at(-1) : undefined
  const key = last && sortKeyOf(query.sort_by).map((field) => sortValue(list, last, field))
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
