/** Numbers as the console writes them. */
import { LOCALE } from './locale.ts'

const whole = new Intl.NumberFormat(LOCALE)
const oneDigit = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 })
const percents = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 0 })
const plural = new Intl.PluralRules(LOCALE)

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** Writes a number with separators: `2,249`. */
export const formatNumber = (value: number): string => whole.format(value)

/** Writes a share from 0 to 1 as a percentage: `43%`. */
export const formatPercent = (share: number): string => percents.format(share)

/** Writes a number with its noun: `1 session`, `3 sessions`. */
export function formatCount(value: number, one: string, many: string): string {
  return `${whole.format(value)} ${plural.select(value) === 'one' ? one : many}`
}

/** Writes a size in decimal units: `1.2 GB`. */
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
