import { formatTotal } from '../../words/numbers.ts'
import { useShortcuts } from '../keys.ts'
import { dataTableTexts as texts } from './data-table.texts.ts'
import {
  type ListPosition,
  nextPosition,
  PAGE_SIZES,
  type PageInfo,
  previousPosition,
  rowRange,
} from './paging.ts'

/** The position in a list, and the functions to change it. */
export interface Paging {
  readonly info: PageInfo
  readonly position: ListPosition
  readonly onMove: (position: ListPosition) => void
  readonly onLimit: (limit: number) => void
}

/** The line below a table: the rows on this page, the total, and the buttons for other pages. */
export function Pager({
  caption,
  paging,
  rows,
}: {
  caption: string
  paging: Paging
  rows: number
}) {
  const { info, position, onMove, onLimit } = paging
  const previous = previousPosition(position, info)
  const next = nextPosition(position, info)
  useShortcuts([
    { keys: '[', label: texts.keys.previousPage, run: () => previous && onMove(previous) },
    { keys: ']', label: texts.keys.nextPage, run: () => next && onMove(next) },
  ])
  const total = formatTotal(info)
  const range = rowRange(position, info, rows)
  return (
    <nav className="pager" aria-label={texts.pages(caption)}>
      <label className="row">
        <span className="muted">{texts.rowsPerPage}</span>
        <select value={info.limit} onChange={(event) => onLimit(Number(event.target.value))}>
          {PAGE_SIZES.map((size) => (
            <option key={size}>{size}</option>
          ))}
        </select>
      </label>
      <span className="grow number">
        {range ? texts.range(range.first, range.last, total) : total}
      </span>
      <button type="button" disabled={!previous} onClick={() => previous && onMove(previous)}>
        {position.after === undefined ? texts.previous : texts.first}
      </button>
      <button type="button" disabled={!next} onClick={() => next && onMove(next)}>
        {texts.next}
      </button>
    </nav>
  )
}
