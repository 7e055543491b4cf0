import type { ReactNode } from 'react'
import type { Paging } from './pager.tsx'
import type { Selection } from './selection.ts'

/** A column of a table. The first column names the row and links to its record. */
export interface Column<Row> {
  readonly id: string
  readonly label: string
  readonly render: (row: Row) => ReactNode
  readonly isSortable?: boolean
  readonly isNumber?: boolean
  /** Columns of rank 1 stay visible while a panel is open beside the table. The default is 2. */
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

/** The selected rows, and the actions on them. */
export interface Choosing {
  readonly selection: Selection
  readonly onChange: (selection: Selection) => void
  /** The buttons for the selected rows. */
  readonly actions: ReactNode
  /** True if the actions need the data of each row. The table then does not offer to select matches on other pages. */
  readonly isPageOnly?: boolean
}

/** The properties of a table. */
export interface DataTableProps<Row> {
  /** Names the table. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** Undefined while the first page loads. */
  readonly rows: readonly Row[] | undefined
  readonly idOf: (row: Row) => string
  /** Returns the name of a row, for the label of its checkbox. */
  readonly nameOf: (row: Row) => string
  readonly linkOf: (row: Row) => RowLink
  /** The id of the row that the panel shows. */
  readonly openId?: string | undefined
  readonly isFetching?: boolean
  readonly sort?: Sort
  readonly onSort?: (sort: Sort) => void
  readonly choosing?: Choosing
  readonly paging?: Paging | undefined
  /** Shown instead of rows if there are none. */
  readonly empty: ReactNode
}
