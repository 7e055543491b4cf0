import { DAY } from './clock.ts'
import { instantOf, isBareDate } from './instant.ts'
import type { Refuse } from './problems.ts'

/** The start and end of the search, in ISO 8601. `until` is exclusive. */
export interface Span {
  from?: string
  until?: string
}

/**
 * Returns the range between two inclusive ends: whole UTC days for dates, whole milliseconds (the stored precision) for
 * times. Rejects a `from` after `to`.
 */
export function spanOf(from: string | undefined, to: string | undefined, refuse: Refuse): Span {
  const start = from === undefined ? undefined : instantOf(from)
  const end = to === undefined ? undefined : instantOf(to) + (isBareDate(to) ? DAY : 1)
  if (start !== undefined && end !== undefined && start >= end)
    refuse(['query', 'from_date'], 'from_date must not be after to_date')
  return {
    ...(start === undefined ? {} : { from: iso(start) }),
    ...(end === undefined ? {} : { until: iso(end) }),
  }
}

/** Limits a time to the years that the database can store, which an offset or the end of a day may exceed. */
function iso(time: number): string {
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']
  return time < Date.parse(first)
    ? first
    : time > Date.parse(last)
      ? last
      : new Date(time).toISOString()
}
