import { dataTableTexts as texts } from './data-table.texts.ts'
import { ALL_SELECTED, EMPTY_SELECTION, isPageSelected, selectedCount } from './selection.ts'
import type { Choosing } from './types.ts'

interface ChosenBarProps {
  readonly choosing: Choosing
  readonly pageIds: readonly string[]
  readonly total: number
  readonly isEstimated: boolean
}

/** The bar above a table with selected rows: their number, the actions, and a button that selects all matches. */
export function ChosenBar({ choosing, pageIds, total, isEstimated }: ChosenBarProps) {
  const { selection, onChange, actions, isPageOnly = false } = choosing
  const count = selectedCount(selection, total)
  if (count === 0) return null
  const canChooseAll =
    !isPageOnly &&
    selection.kind === 'some' &&
    isPageSelected(selection, pageIds) &&
    total > pageIds.length
  return (
    <section className="chosen-bar" aria-label={texts.chosenRegion}>
      <b>{texts.chosen(count)}</b>
      {canChooseAll && (
        <button type="button" className="link" onClick={() => onChange(ALL_SELECTED)}>
          {texts.chooseAll(total, isEstimated)}
        </button>
      )}
      <div className="row">{actions}</div>
      <button type="button" className="link" onClick={() => onChange(EMPTY_SELECTION)}>
        {texts.chooseNone}
      </button>
    </section>
  )
}
