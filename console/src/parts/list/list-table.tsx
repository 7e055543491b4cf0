import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { ApiError } from '../../api/problem.ts'
import { DataTable, type PageInfo } from '../data-table/index.ts'
import type { DataTableProps } from '../data-table/types.ts'
import { QueryState } from '../query-state.tsx'
import { statesTexts as texts } from '../states.texts.ts'
import { NothingFound, PastEnd } from '../states.tsx'
import type { ListState } from './list-state.ts'
import type { Parameters } from './parameters.ts'

/** A page of a list as the API returns it. */
export interface ListPage<Row> extends PageInfo {
  readonly items: readonly Row[]
}

/**
 * Loads a page of a list. Keeps the previous rows while new ones load, except rows of another clinic.
 * @param name the first part of the query's key, such as `users`
 * @param query filters, order and position, as the API accepts them
 * @param repeatMs the interval at which the page is reloaded while the tab is visible
 */
export function useListPage<Page>(
  name: string,
  clinicId: number,
  query: object,
  load: () => Promise<Page>,
  repeatMs?: number | ((page: Page | undefined) => number),
): UseQueryResult<Page> {
  return useQuery({
    queryKey: [name, clinicId, 'list', query],
    queryFn: load,
    refetchInterval:
      typeof repeatMs === 'function' ? ({ state }) => repeatMs(state.data) : (repeatMs ?? false),
    placeholderData: (previous, before) =>
      before?.queryKey[1] === clinicId ? previous : undefined,
  })
}

type TableProps<Row> = Omit<DataTableProps<Row>, 'rows' | 'sort' | 'onSort' | 'paging'>

export interface ListTableProps<Row, Filters extends Parameters> extends TableProps<Row> {
  readonly list: ListState<Filters>
  readonly query: UseQueryResult<ListPage<Row>>
  /** The sentence instead of rows if the filters match nothing. Without it, `empty` stands there too. */
  readonly nothingFound?: string
}

/** The table of a list with its order and pages. An empty list shows the state of the request instead. */
export function ListTable<Row, Filters extends Parameters>({
  list,
  query,
  nothingFound,
  ...table
}: ListTableProps<Row, Filters>) {
  const empty =
    list.isFiltered && nothingFound !== undefined ? (
      <NothingFound onClear={list.clearFilters}>{nothingFound}</NothingFound>
    ) : (
      table.empty
    )
  const shared = { ...table, sort: list.sort, onSort: list.setSort }
  if (isRefusedAddress(query))
    return <NothingFound onClear={list.clearFilters}>{texts.refusedAddress}</NothingFound>
  return (
    <QueryState query={query} skeleton={<DataTable {...shared} rows={undefined} />}>
      {(page) => (
        <DataTable
          {...shared}
          rows={page.items}
          empty={page.total > 0 ? <PastEnd onFirst={list.toFirstPage} /> : empty}
          isFetching={query.isPlaceholderData}
          paging={list.pagingOf(page)}
        />
      )}
    </QueryState>
  )
}

/** True if the service rejects the parameters of the URL, such as a cursor from another sort order. */
const isRefusedAddress = ({ error, data }: UseQueryResult<unknown>): boolean =>
  data === undefined && error instanceof ApiError && error.status === 422
