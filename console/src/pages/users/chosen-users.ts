import { useState } from 'react'
import { EMPTY_SELECTION, type Selection } from '../../parts/data-table/index.ts'
import type { User } from './data.ts'

/** The selected rows of a page of users. */
export interface ChosenUsers {
  readonly selection: Selection
  readonly onChange: (selection: Selection) => void
  readonly users: readonly User[]
  readonly clear: () => void
}

/**
 * Keeps the selection while the list shows the same view, so that users cannot change rows that they do not see.
 * @param view identifies the view of the list: filters, order and page
 */
export function useChosenUsers(view: string, rows: readonly User[] | undefined): ChosenUsers {
  const [state, setState] = useState({ view, selection: EMPTY_SELECTION })
  const selection = state.view === view ? state.selection : EMPTY_SELECTION
  const users = (rows ?? []).filter(
    ({ id }) => selection.kind === 'some' && selection.ids.has(String(id)),
  )
  return {
    selection,
    onChange: (next) => setState({ view, selection: next }),
    users,
    clear: () => setState({ view, selection: EMPTY_SELECTION }),
  }
}
