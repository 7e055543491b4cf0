/** The selected rows of a list: individual ids, or all rows that match the filters. */

/** The selected rows. `anchor` is the row where a range starts. */
export type Selection =
  | { readonly kind: 'some'; readonly ids: ReadonlySet<string>; readonly anchor?: string }
  | { readonly kind: 'all' }

/** The selection of nothing. */
export const EMPTY_SELECTION: Selection = { kind: 'some', ids: new Set() }

/** The selection of every row that matches the filters, on all pages. */
export const ALL_SELECTED: Selection = { kind: 'all' }

/** True if the row is selected. */
export const isSelected = (selection: Selection, id: string): boolean =>
  selection.kind === 'all' || selection.ids.has(id)

/** Returns the number of selected rows. */
export const selectedCount = (selection: Selection, total: number): number =>
  selection.kind === 'all' ? total : selection.ids.size

/** True if every row of the page is selected. */
export const isPageSelected = (selection: Selection, pageIds: readonly string[]): boolean =>
  pageIds.length > 0 && pageIds.every((id) => isSelected(selection, id))

/** Selects or deselects a row. If all matches were selected, starts with the rows of this page. */
export function toggleRow(selection: Selection, id: string, pageIds: readonly string[]): Selection {
  const ids = new Set(selection.kind === 'all' ? pageIds : selection.ids)
  if (!ids.delete(id)) ids.add(id)
  return { kind: 'some', ids, anchor: id }
}

/** Selects every row from the last selected row to this row. */
export function selectRange(
  selection: Selection,
  id: string,
  pageIds: readonly string[],
): Selection {
  const anchor = selection.kind === 'some' ? selection.anchor : undefined
  const from = anchor === undefined ? -1 : pageIds.indexOf(anchor)
  const to = pageIds.indexOf(id)
  if (selection.kind === 'all' || from < 0 || to < 0) return toggleRow(selection, id, pageIds)
  const range = pageIds.slice(Math.min(from, to), Math.max(from, to) + 1)
  return { kind: 'some', ids: new Set([...selection.ids, ...range]), anchor: id }
}

/** Selects every row of the page, or deselects them if all are selected. */
export function togglePage(selection: Selection, pageIds: readonly string[]): Selection {
  if (selection.kind === 'all') return EMPTY_SELECTION
  const ids = new Set(selection.ids)
  const isFull = isPageSelected(selection, pageIds)
  for (const id of pageIds) {
    if (isFull) ids.delete(id)
    else ids.add(id)
  }
  return { kind: 'some', ids }
}
