/** Reads the filters, order and position of a list from a URL, and converts them to a query of the API. */
import { type ListPosition, MAX_NUMBERED, PAGE_SIZES } from '../data-table/paging.ts'
import type { Sort } from '../data-table/types.ts'
import {
  idParameter,
  type Parameters,
  readParameters,
  textParameter,
  type ValuesOf,
} from './parameters.ts'

/** The parameters that the URL of a list can have. */
export interface ListOptions<Filters extends Parameters> {
  readonly filters: Filters
  /** The columns to sort by, as named in the API. */
  readonly sortable: readonly string[]
  /** The order if the URL contains none. */
  readonly sort: Sort
}

/** The filters, order and position of a list. */
export interface ListView<Filters extends Parameters> {
  readonly filters: ValuesOf<Filters>
  readonly sort: Sort
  readonly position: ListPosition
  /** Rows per page. */
  readonly limit: number
}

const MAX_CURSOR_LENGTH = 4000
const MAX_SORT_LENGTH = 100

const placeParameters = {
  sort: textParameter(MAX_SORT_LENGTH),
  limit: idParameter,
  page: idParameter,
  after: textParameter(MAX_CURSOR_LENGTH),
}

/** Reads the view of a list. Ignores malformed parameters. */
export function readListView<Filters extends Parameters>(
  options: ListOptions<Filters>,
  search: Readonly<Record<string, unknown>>,
): ListView<Filters> {
  const place = readParameters(placeParameters, search)
  const limit = PAGE_SIZES.find((size) => size === place.limit) ?? PAGE_SIZES[0]
  return {
    filters: readParameters(options.filters, search),
    sort: readSort(options, place.sort),
    position: readPosition(place, limit),
    limit,
  }
}

/** Formats the order as a parameter: the column, with `-` before it for descending order. */
export const writeSort = ({ column, direction }: Sort): string =>
  direction === 'desc' ? `-${column}` : column

/** The query of the API for a page of a list. */
export interface PageQuery {
  readonly limit: number
  readonly page?: number
  readonly after?: string
}

/** Returns the position where a page of a list starts, for the API. */
export const pageQuery = ({ limit, position }: ListView<Parameters>): PageQuery => ({
  limit,
  ...position,
})

function readSort(options: ListOptions<Parameters>, text = ''): Sort {
  const isDescending = text.startsWith('-')
  const column = isDescending ? text.slice(1) : text
  if (!options.sortable.includes(column)) return options.sort
  return { column, direction: isDescending ? 'desc' : 'asc' }
}

function readPosition(place: ValuesOf<typeof placeParameters>, limit: number): ListPosition {
  const { page, after } = place
  if (after !== undefined) return { after }
  return page !== undefined && page > 1 && page * limit <= MAX_NUMBERED ? { page } : {}
}
