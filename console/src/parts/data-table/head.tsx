import { Icon } from '../icon.tsx'
import { dataTableTexts as texts } from './data-table.texts.ts'
import { isPageSelected, togglePage } from './selection.ts'
import type { Choosing, Column, Sort } from './types.ts'

interface HeadProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly pageIds: readonly string[]
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
  readonly choosing: Choosing | undefined
}

/** The head of a table: the checkbox for the whole page, and the columns with their sort buttons. */
export function TableHead<Row>({ columns, pageIds, sort, onSort, choosing }: HeadProps<Row>) {
  return (
    <thead>
      <tr>
        {choosing && (
          <td className="choose">
            <input
              type="checkbox"
              aria-label={texts.choosePage}
              checked={isPageSelected(choosing.selection, pageIds)}
              onChange={() => choosing.onChange(togglePage(choosing.selection, pageIds))}
            />
          </td>
        )}
        {columns.map((column) => (
          <HeadCell key={column.id} column={column} sort={sort} onSort={onSort} />
        ))}
      </tr>
    </thead>
  )
}

interface HeadCellProps<Row> {
  readonly column: Column<Row>
  readonly sort: Sort | undefined
  readonly onSort: ((sort: Sort) => void) | undefined
}

function HeadCell<Row>({ column, sort, onSort }: HeadCellProps<Row>) {
  const direction = sort?.column === column.id ? sort.direction : undefined
  const next = direction === 'asc' ? 'desc' : 'asc'
  return (
    <th
      scope="col"
      className={column.isNumber ? 'number' : undefined}
      aria-sort={direction && (direction === 'asc' ? 'ascending' : 'descending')}
    >
      {column.isSortable && onSort ? (
        <button type="button" onClick={() => onSort({ column: column.id, direction: next })}>
          {column.label}
          <Icon name={direction ? (direction === 'asc' ? 'arrowUp' : 'arrowDown') : 'sort'} />
        </button>
      ) : (
        column.label
      )}
    </th>
  )
}
