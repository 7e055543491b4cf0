/** Formats dates and times. The console always uses the browser's time zone. */
import { LOCALE } from './locale.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** From this age on, the console shows a date instead of a number of days. */
const OLDEST_AGO = 7 * DAY

const dates = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium' })
const clocks = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short' })
const clockSeconds = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'medium' })
const dayClocks = new Intl.DateTimeFormat(LOCALE, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const toTheSecond = {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const
const daySeconds = new Intl.DateTimeFormat(LOCALE, toTheSecond)
const yearSeconds = new Intl.DateTimeFormat(LOCALE, { ...toTheSecond, year: 'numeric' })
const fullTimes = new Intl.DateTimeFormat(LOCALE, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
})
const zones = new Intl.DateTimeFormat(LOCALE, { timeZoneName: 'short' })

/** Formats a date: `27 Nov 2026`. */
export const formatDate = (at: Date): string => dates.format(at)

/** Formats a time of day: `14:02`. */
export const formatClock = (at: Date): string => clocks.format(at)

/** Formats a time of day to the second: `14:02:11`. */
export const formatClockSecond = (at: Date): string => clockSeconds.format(at)

/** Formats a date without the year, and the time of day: `27 Nov, 14:02`. */
export const formatDayClock = (at: Date): string => dayClocks.format(at)

/** Formats a date and the time to the second: `27 Nov, 14:02:11`. Adds the year if it is not the current one. */
export const formatSecond = (at: Date, now: Date): string =>
  (at.getFullYear() === now.getFullYear() ? daySeconds : yearSeconds).format(at)

/** Formats the date, the time to the second, and the time zone. */
export const formatFullTime = (at: Date): string => fullTimes.format(at)

/** Returns the short name of the browser's time zone: `CET`. */
export function timeZoneName(at: Date = new Date()): string {
  return zones.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? 'UTC'
}

/** Formats how long ago a time was. After seven days, formats the date instead. */
export function formatAgo(at: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - at.getTime()) / 1000)
  const distance = Math.abs(seconds)
  if (distance >= OLDEST_AGO) return formatDate(at)
  if (distance < MINUTE) return seconds < 0 ? 'in less than a minute' : 'just now'
  const length = formatDuration(distance)
  return seconds < 0 ? `in ${length}` : `${length} ago`
}

/** Formats a number of seconds in its largest unit: `41 s`, `3 min`, `2 h`, `5 d`. */
export function formatDuration(seconds: number): string {
  if (seconds < MINUTE) return `${Math.max(0, Math.round(seconds))} s`
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h`
  return `${Math.floor(seconds / DAY)} d`
}
