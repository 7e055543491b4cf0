/** The page of a list, as every list operation takes and answers it (decisions §1). */
import Type, { type Static, type TSchema } from 'typebox'
import { OneOf } from './shapes.ts'

/** Totals are exact up to here; beyond, an estimate marked as such. */
export const EXACT_TOTAL = 10_000

/** The query parameters that every list takes; `sortable` are the columns it can be sorted by. */
export function pageQuery<const S extends readonly string[]>(
  sortable: S,
  defaults: { sort_by: S[number]; sort_order: 'asc' | 'desc' },
) {
  return {
    page: Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: 1 }),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    sort_by: OneOf(sortable, { default: defaults.sort_by }),
    sort_order: OneOf(['asc', 'desc'], { default: defaults.sort_order }),
  }
}

/** What a page query holds once its defaults are in. */
export interface PageQuery<S extends string = string> {
  page: number
  limit: number
  sort_by: S
  sort_order: 'asc' | 'desc'
}

/** The answer of a list of `item`. */
export function pageOf<T extends TSchema>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    total: Type.Integer({ minimum: 0 }),
    total_estimated: Type.Optional(Type.Boolean()),
    page: Type.Integer(),
    limit: Type.Integer(),
    pages: Type.Integer(),
  })
}

export type Page<T> = Omit<Static<ReturnType<typeof pageOf>>, 'items'> & { items: T[] }

/** Puts rows and their count together as a page. */
export function toPage<T>(
  query: Pick<PageQuery, 'page' | 'limit'>,
  found: { items: T[]; total: number; estimated: boolean },
): Page<T> {
  return {
    items: found.items,
    total: found.total,
    ...(found.estimated ? { total_estimated: true } : {}),
    page: query.page,
    limit: query.limit,
    pages: Math.ceil(found.total / query.limit),
  }
}
