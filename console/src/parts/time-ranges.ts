/** Time ranges for the filters of lists and charts, and their form in the URL. */

const HOUR_MS = 3_600_000

/** The ranges that end now, with their length. */
export const RECENT_RANGES = {
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
} as const

/** The name of a range that ends now. */
export type RecentRange = keyof typeof RECENT_RANGES

/**
 * A time range: a named range that ends now, or a custom range. In a custom range, a date without a time is a whole UTC
 * day.
 */
export type TimeRangeValue =
  | { readonly range: RecentRange }
  | { readonly from: string; readonly to: string }

/** Reads a range from the parameters of a URL. Returns the fallback if they are malformed. */
export function parseTimeRange(
  search: Readonly<Record<string, unknown>>,
  fallback: RecentRange,
): TimeRangeValue {
  const { range, from, to } = search
  if (isTime(from) && isTime(to)) return { from, to }
  return { range: isRecentRange(range) ? range : fallback }
}

/** The ends of a range, for requests. */
export function boundsOf(value: TimeRangeValue, now: Date): { from: string; to: string } {
  if (!('range' in value)) return value
  const from = new Date(now.getTime() - RECENT_RANGES[value.range])
  return { from: from.toISOString(), to: now.toISOString() }
}

/** True if the range starts or ends with a date without a time. */
export const hasWholeDays = (value: TimeRangeValue): boolean =>
  !('range' in value) && (isBareDate(value.from) || isBareDate(value.to))

/** Formats a time for a native input, in the browser's time zone. */
export function toInputTime(iso: string): string {
  const time = new Date(iso)
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

const isRecentRange = (value: unknown): value is RecentRange =>
  typeof value === 'string' && Object.hasOwn(RECENT_RANGES, value)

const isBareDate = (value: string): boolean => /^\d{4}-\d\d-\d\d$/.test(value)

const isTime = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) && !Number.isNaN(Date.parse(value))
