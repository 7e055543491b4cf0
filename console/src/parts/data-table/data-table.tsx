import { useSlow } from '../skeleton.tsx'
import { ChosenBar } from './chosen-bar.tsx'
import { dataTableTexts as texts } from './data-table.texts.ts'
import { TableHead } from './head.tsx'
import { Pager } from './pager.tsx'
import { SkeletonRows, TableRows } from './rows.tsx'
import type { DataTableProps } from './types.ts'
import { useOverflow } from './use-overflow.ts'
import { useRowKeys } from './use-row-keys.ts'
import './data-table.css'

/**
 * A list of records with sorting, selection, pages and shortcuts. While a panel is open, only the columns of rank 1 are
 * shown. While new rows load, the old rows stay visible but dimmed.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, rows, sort, choosing, paging } = props
  const overflow = useOverflow()
  const onKeyDown = useRowKeys(props, overflow.container)
  const isFirstLoad = rows === undefined
  const isSlow = useSlow(isFirstLoad)
  const columns =
    props.openId === undefined ? props.columns : props.columns.filter(({ rank }) => rank === 1)
  const pageIds = rows?.map(props.idOf) ?? []
  const total = paging?.info.total ?? pageIds.length
  const isEstimated = paging?.info.total_estimated === true
  return (
    <div className="data">
      {choosing && <ChosenBar {...{ choosing, pageIds, total, isEstimated }} />}
      <div className="card">
        <div
          ref={overflow.container}
          className={overflow.isOverflowing ? 'data-scroll' : undefined}
          {...(overflow.isOverflowing && { tabIndex: 0, role: 'group', 'aria-label': caption })}
        >
          <table
            ref={overflow.table}
            aria-busy={isFirstLoad || props.isFetching === true}
            onKeyDown={onKeyDown}
          >
            <caption className="hidden">{captionOf(props)}</caption>
            <TableHead {...{ columns, pageIds, sort, choosing }} onSort={props.onSort} />
            {rows && <TableRows table={props} columns={columns} rows={rows} />}
            {isSlow && <SkeletonRows columns={columns.length + (choosing ? 1 : 0)} />}
          </table>
        </div>
        {rows?.length === 0 && props.empty}
        {paging && pageIds.length > 0 && (
          <Pager caption={caption} paging={paging} rows={pageIds.length} />
        )}
      </div>
    </div>
  )
}

function captionOf<Row>({ caption, sort, columns }: DataTableProps<Row>): string {
  const label = columns.find(({ id }) => id === sort?.column)?.label
  return sort && label ? texts.sortedBy(caption, label, sort.direction) : caption
}
