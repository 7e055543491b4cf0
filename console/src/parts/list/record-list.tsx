import { Fragment, type ReactNode } from 'react'
import { rowLinkId } from '../data-table/index.ts'
import { linkToOpen, useOpenRecord } from './list-state.ts'
import { ListTable, type ListTableProps } from './list-table.tsx'
import type { Parameters } from './parameters.ts'

/** The record whose panel is open. */
interface OpenPanel {
  readonly id: number
  readonly returnFocusTo: string
  readonly onClose: () => void
}

interface RecordListProps<Row extends { readonly id: number }, Filters extends Parameters>
  extends Omit<ListTableProps<Row, Filters>, 'idOf' | 'linkOf' | 'openId'> {
  readonly className?: string
  /** Renders the panel of the open record. */
  readonly panel: (open: OpenPanel) => ReactNode
}

/** The table of a list, and beside it the panel of the record that the URL opens. */
export function RecordList<Row extends { readonly id: number }, Filters extends Parameters>({
  className,
  panel,
  ...table
}: RecordListProps<Row, Filters>) {
  const { id, close } = useOpenRecord()
  const openId = id === undefined ? undefined : String(id)
  return (
    <div className={className === undefined ? 'split' : `split ${className}`}>
      <ListTable
        {...table}
        idOf={(row) => String(row.id)}
        linkOf={(row) => linkToOpen(row.id)}
        openId={openId}
      />
      {id !== undefined && (
        <Fragment key={openId}>
          {panel({ id, returnFocusTo: rowLinkId(String(id)), onClose: close })}
        </Fragment>
      )}
    </div>
  )
}
