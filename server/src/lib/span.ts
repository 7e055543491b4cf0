/** The span of time that a list is asked for. */
import { DAY } from './clock.ts'
import { instantOf, isBareDate } from './instant.ts'
import type { Refuse } from './problems.ts'

/** The instants between which records are looked for, ISO 8601; `until` is not included. */
export interface Span {
  from?: string
  until?: string
}

/**
 * Both ends are inclusive: a bare date covers its whole UTC day, and a time its whole millisecond,
 * which is as fine as records are dated. Refused when `from` comes after `to`.
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

/** An offset or the end of a day may lead out of the years that the database can hold. */
function iso(time: number): string {
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z']
  return time < Date.parse(first)
    ? first
    : time > Date.parse(last)
      ? last
      : new Date(time).toISOString()
}
