/** The live mode of the audit log. */
import { useState } from 'react'
import { formatClockSecond } from '../../words/dates.ts'
import { auditTexts } from './audit.texts.ts'
import type { AuditEntry } from './entry-words.ts'
import { type AuditView, timeRangeOf } from './filters.ts'
import { isOnFirstPage } from './span.ts'

const texts = auditTexts.live

/** The state of live mode. The user switches it on or off. It pauses on pages where no new entry can appear. */
export interface LiveSwitch {
  readonly isOn: boolean
  /** True while new entries are polled. */
  readonly isRunning: boolean
  readonly toggle: () => void
}

/** Switches live mode on and off. It pauses on later pages, in other sort orders, and in time ranges with an end. */
export function useLiveSwitch(view: AuditView): LiveSwitch {
  const [isOn, setOn] = useState(false)
  const range = timeRangeOf(view.filters)
  const canShowNew =
    isOnFirstPage(view) &&
    view.sort.direction === 'desc' &&
    (range === undefined || 'range' in range)
  return { isOn, isRunning: isOn && canShowNew, toggle: () => setOn(!isOn) }
}

/** The entries that arrived most recently in live mode. */
export interface Arrivals {
  readonly ids: ReadonlySet<number>
  readonly at: Date | undefined
}

const NONE: Arrivals = { ids: new Set(), at: undefined }

/**
 * Returns the entries that arrived with the latest refresh.
 * @param shown identifies the list. After a change of list, no entry counts as new.
 */
export function useArrivals(
  isRunning: boolean,
  shown: string,
  rows: readonly AuditEntry[] | undefined,
): Arrivals {
  const [seen, setSeen] = useState({ isRunning, shown, rows, arrivals: NONE })
  if (seen.isRunning === isRunning && seen.shown === shown && seen.rows === rows)
    return seen.arrivals
  const isSame = isRunning && seen.isRunning && seen.shown === shown
  const arrivals = isSame ? arrivalsOf(seen.rows, rows, seen.arrivals) : NONE
  setSeen({ isRunning, shown, rows, arrivals })
  return arrivals
}

function arrivalsOf(
  before: readonly AuditEntry[] | undefined,
  rows: readonly AuditEntry[] | undefined,
  latest: Arrivals,
): Arrivals {
  if (!before || !rows) return latest
  const known = new Set(before.map(({ id }) => id))
  const first = rows.findIndex(({ id }) => known.has(id))
  const added = first < 0 ? rows : rows.slice(0, first)
  return added.length === 0 ? latest : { ids: new Set(added.map(({ id }) => id)), at: new Date() }
}

/** Returns the state of live mode in words; empty while it is off. */
export function liveWords({ isOn, isRunning }: LiveSwitch, { ids, at }: Arrivals): string {
  if (!isOn) return ''
  if (!isRunning) return texts.paused
  return at ? texts.arrived(ids.size, formatClockSecond(at)) : texts.waiting
}
