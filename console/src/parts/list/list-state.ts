/** The state of a list, stored in the URL: filters, sort, position and the open record. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ListPosition, PageInfo, Paging, Sort } from '../data-table/index.ts'
import { PAGE_SIZES } from '../data-table/paging.ts'
import type { RowLink } from '../data-table/types.ts'
import { type ListOptions, type ListView, readListView, writeSort } from './list-search.ts'
import { idParameter, type Parameters, readParameters } from './parameters.ts'

/** The view of a list, and the functions that change it. Every change goes through the URL. */
export interface ListState<Filters extends Parameters> extends ListView<Filters> {
  /** True while a filter is set. */
  readonly isFiltered: boolean
  /** Changes filters and returns to the first page. An undefined or empty value removes the filter. */
  readonly setFilters: (change: { readonly [Name in keyof Filters]?: unknown }) => void
  readonly clearFilters: () => void
  readonly toFirstPage: () => void
  readonly setSort: (sort: Sort) => void
  /** Returns the paging of the table for a response of the API. */
  readonly pagingOf: (info: PageInfo) => Paging
}

type Search = Readonly<Record<string, unknown>>
type ChangeSearch = (change: Search, options?: { readonly replace?: boolean }) => void

/** Reads and changes the state of the list of this page. */
export function useListState<Filters extends Parameters>(
  options: ListOptions<Filters>,
): ListState<Filters> {
  const search: Search = useSearch({ strict: false })
  const change = useChangeSearch()
  const view = readListView(options, search)
  const noFilters = Object.fromEntries(
    Object.keys(options.filters).map((name) => [name, undefined]),
  )
  return {
    ...view,
    isFiltered: Object.keys(view.filters).length > 0,
    setFilters: (filters) =>
      change({ ...filters, ...FIRST_PAGE }, { replace: isTypedSearch(filters) }),
    toFirstPage: () => change(FIRST_PAGE),
    clearFilters: () => change({ ...noFilters, ...FIRST_PAGE }),
    setSort: (sort) => change({ sort: writeSort(sort), ...FIRST_PAGE }),
    pagingOf: (info) => ({
      info,
      position: view.position,
      onMove: (position: ListPosition) => change({ ...FIRST_PAGE, ...position }),
      onLimit: (limit) =>
        change({ limit: limit === PAGE_SIZES[0] ? undefined : limit, ...FIRST_PAGE }),
    }),
  }
}

/**
 * True if only the search term changes. Such changes replace the history entry, so that typing adds no entry for each
 * letter.
 */
const isTypedSearch = (filters: object): boolean => {
  const names = Object.keys(filters)
  return names.length === 1 && names[0] === 'search'
}

const FIRST_PAGE = { page: undefined, after: undefined }

/** The record that is open beside the list, and the selected tab of its panel. */
export interface OpenRecord {
  readonly id: number | undefined
  readonly close: () => void
}

/** Reads which record is open. */
export function useOpenRecord(): OpenRecord {
  const search: Search = useSearch({ strict: false })
  const change = useChangeSearch()
  return {
    id: readParameters({ open: idParameter }, search).open,
    close: () => change({ open: undefined, tab: undefined }),
  }
}

/** Returns the link that opens a record beside the list. The link keeps the selected tab. */
export const linkToOpen = (id: number): RowLink => ({
  to: '.',
  search: (current) => ({ ...current, open: id }),
})

/** Returns a function that changes parameters of this page's URL. It removes parameters that are undefined or empty. */
export function useChangeSearch(): ChangeSearch {
  const navigate = useNavigate()
  return (change, { replace = false } = {}) =>
    void navigate({
      to: '.',
      search: (current: Search) =>
        Object.fromEntries(
          Object.entries({ ...current, ...change }).filter(
            ([, value]) => value !== undefined && value !== '',
          ),
        ),
      replace,
    })
}
