import { Link } from '@tanstack/react-router'
import { SkeletonLine, upTo } from '../skeleton.tsx'
import { dataTableTexts as texts } from './data-table.texts.ts'
import { isSelected, selectRange, toggleRow } from './selection.ts'
import type { Choosing, Column, DataTableProps } from './types.ts'

/** Returns the id of the link in a row. When a panel closes, the focus returns to this link. */
export const rowLinkId = (id: string): string => `row-${id}`

interface RowsProps<Row> {
  readonly table: DataTableProps<Row>
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
}

/** The rows of a table. */
export function TableRows<Row>({ table, columns, rows }: RowsProps<Row>) {
  const pageIds = rows.map(table.idOf)
  const [first, ...others] = columns
  return (
    <tbody>
      {rows.map((row) => {
        const id = table.idOf(row)
        return (
          <tr key={id} className={rowClass(id, table)}>
            {table.choosing && (
              <ChooseCell
                id={id}
                name={table.nameOf(row)}
                pageIds={pageIds}
                choosing={table.choosing}
              />
            )}
            <th scope="row">
              <Link
                {...table.linkOf(row)}
                id={rowLinkId(id)}
                aria-current={id === table.openId ? 'true' : undefined}
              >
                {first?.render(row)}
              </Link>
            </th>
            {others.map((column) => (
              <td key={column.id} className={column.isNumber ? 'number' : undefined}>
                {column.render(row)}
              </td>
            ))}
          </tr>
        )
      })}
    </tbody>
  )
}

function rowClass<Row>(id: string, { openId, choosing }: DataTableProps<Row>): string | undefined {
  if (id === openId) return 'open'
  return choosing && isSelected(choosing.selection, id) ? 'chosen' : undefined
}

interface ChooseCellProps {
  readonly id: string
  readonly name: string
  readonly pageIds: readonly string[]
  readonly choosing: Choosing
}

function ChooseCell({ id, name, pageIds, choosing }: ChooseCellProps) {
  const { selection, onChange } = choosing
  return (
    <td className="choose">
      <input
        type="checkbox"
        aria-label={texts.chooseRow(name)}
        checked={isSelected(selection, id)}
        onChange={(event) => {
          const isRange = event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey
          onChange((isRange ? selectRange : toggleRow)(selection, id, pageIds))
        }}
      />
    </td>
  )
}

const SKELETON_ROWS = 8

/** Grey placeholder rows in the layout of the real rows. */
export function SkeletonRows({ columns }: { columns: number }) {
  return (
    <tbody>
      {upTo(SKELETON_ROWS).map((row) => (
        <tr key={row}>
          {upTo(columns).map((column) => (
            <td key={column}>
              <SkeletonLine at={row * columns + column} />
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  )
}
