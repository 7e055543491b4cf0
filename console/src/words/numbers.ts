/** Formats numbers for the console. */
import { LOCALE } from './locale.ts'

const whole = new Intl.NumberFormat(LOCALE)
const oneDigit = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 })
const percents = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 0 })
const short = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 })
const plural = new Intl.PluralRules(LOCALE)

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

interface ListSize {
  readonly total: number
  readonly total_estimated?: boolean | undefined
}

/** Formats a number with separators: `2,249`. */
export const formatNumber = (value: number): string => whole.format(value)

/** Formats a number. Shortens it from 10,000 on: `2,249`, `394.3k`, `2.1m`. */
export const formatShort = (value: number): string =>
  value < 10_000 ? whole.format(value) : short.format(value)

/** Formats the size of a list. The size may be an estimate. */
export const formatTotal = (list: ListSize): string =>
  list.total_estimated ? `about ${whole.format(list.total)}` : whole.format(list.total)

/** Formats a share from 0 to 1 as a percentage: `43%`. */
export const formatPercent = (share: number): string => percents.format(share)

/** Formats a number with its noun: `1 session`, `3 sessions`. */
export function formatCount(value: number, one: string, many: string): string {
  return `${whole.format(value)} ${plural.select(value) === 'one' ? one : many}`
}

/** Formats a size in decimal units: `1.2 GB`. */
export function formatBytes(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 999.5 && unit < BYTE_UNITS.length - 1) {
    size /= 1000
    unit += 1
  }
  const number = size < 10 ? oneDigit.format(size) : whole.format(Math.round(size))
  return `${number} ${BYTE_UNITS[unit]}`
}

/** Formats a duration in milliseconds: `84 ms`, `2.1 s`. */
export const formatMilliseconds = (milliseconds: number): string =>
  milliseconds < 1_000 ? `${milliseconds} ms` : `${oneDigit.format(milliseconds / 1_000)} s`
