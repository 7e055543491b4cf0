import type { KeyboardEvent, RefObject } from 'react'
import { useShortcuts } from '../keys.ts'
import { dataTableTexts as texts } from './data-table.texts.ts'
import { rowLinkId } from './rows.tsx'
import { selectRange, toggleRow } from './selection.ts'
import type { DataTableProps } from './types.ts'

const ARROWS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

/**
 * Moves between rows with `j`, `k` and the arrow keys, and selects rows with `x`. An open panel shows the focused row.
 * @returns the table's handler for the arrow keys
 */
export function useRowKeys<Row>(
  table: DataTableProps<Row>,
  container: RefObject<HTMLElement | null>,
): (event: KeyboardEvent) => void {
  const ids = table.rows?.map(table.idOf) ?? []
  const { choosing, openId } = table
  const currentId = () => {
    const row = document.activeElement?.closest('tr')
    const link = row && container.current?.contains(row) ? row.querySelector('th a') : null
    return ids.find((id) => rowLinkId(id) === link?.id) ?? openId
  }
  const move = (step: number) => {
    const current = currentId()
    const at = current === undefined ? -1 : ids.indexOf(current)
    const target = ids[at < 0 ? 0 : Math.max(0, Math.min(at + step, ids.length - 1))]
    const link = target === undefined ? null : document.getElementById(rowLinkId(target))
    link?.focus()
    if (openId !== undefined && target !== openId) link?.click()
  }
  const choose = (change: typeof toggleRow) => {
    const id = currentId()
    if (choosing && id !== undefined) choosing.onChange(change(choosing.selection, id, ids))
  }
  useShortcuts([
    { keys: 'j', label: texts.keys.next, run: () => move(1) },
    { keys: 'k', label: texts.keys.previous, run: () => move(-1) },
    ...(choosing
      ? [
          { keys: 'x', label: texts.keys.choose, run: () => choose(toggleRow) },
          { keys: 'shift+x', label: texts.keys.chooseRange, run: () => choose(selectRange) },
        ]
      : []),
  ])
  return (event) => {
    const step = ARROWS[event.key]
    if (step === undefined || !(event.target instanceof HTMLElement)) return
    if (!event.target.closest('tbody')) return
    event.preventDefault()
    move(step)
  }
}
