/**
 * The time range of a request for the audit log. All pages of a list use the same range, regardless of when they load.
 */
import { useState } from 'react'
import type { ListState } from '../../parts/list/list-state.ts'
import { useChangeSearch } from '../../parts/list/list-state.ts'
import { boundsOf, type TimeRangeValue } from '../../parts/time-ranges.ts'
import type { AuditEntry } from './entry-words.ts'
import { type AuditParameters, type AuditSpan, type AuditView, timeRangeOf } from './filters.ts'

/**
 * Returns the start and end of a range that ends at this time. Without an end time, the range includes later entries.
 */
export function spanOf(range: TimeRangeValue | undefined, now: Date, last?: string): AuditSpan {
  const end = last === undefined ? {} : { to_date: last }
  if (range === undefined) return end
  const { from, to } = boundsOf(range, last === undefined ? now : new Date(last))
  return 'range' in range ? { from_date: from, ...end } : { from_date: from, to_date: to }
}

/** True on the page where new entries appear. */
export const isOnFirstPage = ({ position }: AuditView): boolean =>
  position.page === undefined && position.after === undefined

/** Returns the start and end for a view. The first page has no end time. Later pages end where the first page ended. */
export function useSpan(view: AuditView): AuditSpan {
  const { filters, sort } = view
  const shown = JSON.stringify([filters, sort])
  const [loaded, setLoaded] = useState({ shown, at: new Date() })
  if (loaded.shown !== shown) setLoaded({ shown, at: new Date() })
  return spanOf(timeRangeOf(filters), loaded.at, isOnFirstPage(view) ? undefined : filters.at)
}

/** Returns the list such that later entries do not shift its pages. */
export function useSteadyPages(
  list: ListState<AuditParameters>,
  entries: readonly AuditEntry[],
): ListState<AuditParameters> {
  const change = useChangeSearch()
  // The clock of the service may be ahead of the browser's clock, so the time of the latest entry counts too.
  const last = () =>
    [new Date().toISOString(), ...entries.map(({ created_at }) => created_at)].sort().at(-1)
  return {
    ...list,
    toFirstPage: () => change({ page: undefined, after: undefined, at: undefined }),
    pagingOf: (info) => ({
      ...list.pagingOf(info),
      onMove: ({ page, after }) => {
        const at = isOnFirstPage(list) ? last() : list.filters.at
        const isFirst = page === undefined && after === undefined
        change({ page, after, at: isFirst ? undefined : at })
      },
    }),
  }
}
