import type { ReactNode } from 'react'
import { commonTexts } from '../../words/common.texts.ts'

interface ListFiltersProps {
  readonly list: { readonly isFiltered: boolean; readonly clearFilters: () => void }
  readonly children: ReactNode
}

/** The filters above a list, with a button that clears them while one is set. */
export function ListFilters({ list, children }: ListFiltersProps) {
  return (
    <form className="filters" onSubmit={(event) => event.preventDefault()}>
      {children}
      {list.isFiltered && (
        <button type="button" className="link" onClick={list.clearFilters}>
          {commonTexts.clearFilters}
        </button>
      )}
    </form>
  )
}
