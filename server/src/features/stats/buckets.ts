/** Divides a period into hours or into the days of a time zone, which have 23 or 25 hours when clocks change. */
import { DAY, HOUR, MINUTE } from '../../lib/clock.ts'

export const BUCKETS = ['hour', 'day'] as const
export type Bucket = (typeof BUCKETS)[number]

export interface Period {
  bucket: Bucket
  /** The start and the exclusive end, in milliseconds since the Unix epoch. */
  from: number
  to: number
  timeZone: string
}

/** Returns whether the runtime knows the IANA time zone. Offsets such as `+02:00` are not time zones. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    formatterOf(name)
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/**
 * Returns the starts of all buckets of the period, and the end of the last one. The first bucket contains `from`. Hours
 * begin at the full hours of the time zone at `from`.
 */
export function bucketBounds({ bucket, from, to, timeZone }: Period): number[] {
  const offsetAt = offsetsOf(timeZone)
  if (bucket === 'hour') {
    const offset = offsetAt(from)
    const first = Math.floor((from + offset) / HOUR) * HOUR - offset
    return Array.from({ length: Math.ceil((to - first) / HOUR) + 1 }, (_, n) => first + n * HOUR)
  }
  const bounds: number[] = []
  let day = Math.floor((from + offsetAt(from)) / DAY) * DAY
  for (let start = startOfDay(day, offsetAt); ; start = startOfDay(day, offsetAt)) {
    // A zone that crossed the date line has skipped a whole day.
    if (start !== bounds.at(-1)) bounds.push(start)
    if (start >= to) return bounds
    day += DAY
  }
}

type OffsetAt = (time: number) => number

/** Returns the first moment of a day. @param local the local midnight, written as a time in UTC */
function startOfDay(local: number, offsetAt: OffsetAt): number {
  const [before, after] = [offsetAt(local - DAY), offsetAt(local + DAY)]
  const candidates = [local - before, local - after].filter((at) => at + offsetAt(at) === local)
  if (candidates.length > 0) return Math.min(...candidates)
  // Midnight is skipped. The day begins when the clocks change, between the two candidates.
  let [low, high] = [local - Math.max(before, after), local - Math.min(before, after)]
  while (high - low > MINUTE) {
    const middle = Math.floor((low + high) / 2 / MINUTE) * MINUTE
    if (middle + offsetAt(middle) >= local) high = middle
    else low = middle
  }
  return high
}

const formatters = new Map<string, Intl.DateTimeFormat>()
const MAX_FORMATTERS = 50

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone)
  if (known) return known
  const formatter = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (formatters.size >= MAX_FORMATTERS) formatters.clear()
  formatters.set(timeZone, formatter)
  return formatter
}

/** Returns a function that finds the zone's distance from UTC at a time, in milliseconds. */
function offsetsOf(timeZone: string): OffsetAt {
  const formatter = formatterOf(timeZone)
  return (time) => {
    const parts = Object.fromEntries(
      formatter.formatToParts(time).map(({ type, value }) => [type, value]),
    )
    const { year, month, day, hour, minute, second, era } = parts
    const local = new Date(0)
    local.setUTCFullYear(
      era === 'BC' ? 1 - Number(year) : Number(year),
      Number(month) - 1,
      Number(day),
    )
    local.setUTCHours(Number(hour), Number(minute), Number(second))
    return local.getTime() - Math.floor(time / 1000) * 1000
  }
}
