/** The time range of the lists of payments and notifications, in the URL and as the API accepts it. */
import { checkedParameter, choiceParameter } from '../../parts/list/parameters.ts'
import { RECENT_RANGES, type RecentRange, type TimeRangeValue } from '../../parts/time-ranges.ts'

const MAX_TIME_LENGTH = 40
/** The start of a recent range is rounded down to this step, so that the same page is not requested again and again. */
const STEP_MS = 60_000

const timeParameter = checkedParameter(
  MAX_TIME_LENGTH,
  (text) => /^[12]\d{3}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text)),
)

/** The parameters of the URL. Without them, the lists contain all times. */
export const spanFilters = {
  range: choiceParameter(Object.keys(RECENT_RANGES) as RecentRange[]),
  from: timeParameter,
  to: timeParameter,
}

interface SpanFilters {
  readonly range?: RecentRange
  readonly from?: string
  readonly to?: string
}

/** Returns the chosen range. Undefined means all times. */
export function spanOf({ range, from, to }: SpanFilters): TimeRangeValue | undefined {
  if (from !== undefined && to !== undefined && Date.parse(from) <= Date.parse(to))
    return { from, to }
  return range && { range }
}

/** Returns the parameters of the URL for a range. */
export const spanParameters = (value: TimeRangeValue | undefined) =>
  value === undefined || 'range' in value
    ? { range: value?.range, from: undefined, to: undefined }
    : { range: undefined, from: value.from, to: value.to }

/** Returns the range as the API accepts it. A range that ends now has no end. */
export function spanQuery(
  filters: SpanFilters,
  now: Date,
): { readonly from_date?: string; readonly to_date?: string } {
  const span = spanOf(filters)
  if (!span) return {}
  if (!('range' in span)) return { from_date: span.from, to_date: span.to }
  const start = Math.floor((now.getTime() - RECENT_RANGES[span.range]) / STEP_MS) * STEP_MS
  return { from_date: new Date(start).toISOString() }
}
