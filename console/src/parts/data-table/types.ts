import type { ReactNode } from 'react'
import type { Paging } from './pager.tsx'
import type { Selection } from './selection.ts'

/** A column of a table. The first one names the row and links to it. */
export interface Column<Row> {
  readonly id: string
  readonly label: string
  readonly render: (row: Row) => ReactNode
  readonly isSortable?: boolean
  readonly isNumber?: boolean
  /** Rank 1 stays while a panel is open beside the table; rank 2 is the default. */
  readonly rank?: 1 | 2
}

/** The target of a row's name: another page, or this page with search parameters. */
export interface RowLink {
  readonly to: string
  readonly search?: (current: Readonly<Record<string, unknown>>) => Record<string, unknown>
}

/** The column and direction that a list is sorted by. */
export interface Sort {
  readonly column: string
  readonly direction: 'asc' | 'desc'
}

/** The chosen rows, and the acts on them. */
export interface Choosing {
  readonly selection: Selection
  readonly onChange: (selection: Selection) => void
  /** The buttons for what is chosen. */
  readonly actions: ReactNode
}

/** The properties of a table. */
export interface DataTableProps<Row> {
  /** Names the table. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** Undefined while the first page loads. */
  readonly rows: readonly Row[] | undefined
  readonly idOf: (row: Row) => string
  /** The name of a row, for its checkbox. */
  readonly nameOf: (row: Row) => string
  readonly linkOf: (row: Row) => RowLink
  /** The row that the panel shows. */
  readonly openId?: string | undefined
  readonly isFetching?: boolean
  readonly sort?: Sort
  readonly onSort?: (sort: Sort) => void
  readonly choosing?: Choosing
  readonly paging?: Paging | undefined
  /** Shown instead of rows when there are none. */
  readonly empty: ReactNode
}
