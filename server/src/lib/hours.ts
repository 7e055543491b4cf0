import Type from 'typebox'
import { HOUR } from './clock.ts'

export const HOURS = 24

/** Returns the start of the first of the last 24 clock hours, including the current one, in ISO 8601. */
export const firstHour = (now: number): string =>
  new Date(Math.floor(now / HOUR) * HOUR - (HOURS - 1) * HOUR).toISOString()

/** The schema of a time series: one count for each hour, oldest first. */
export const Hourly = (what: string) =>
  Type.Array(Type.Integer({ minimum: 0 }), {
    description: `${what}, for each hour starting with \`since\`.`,
    examples: [Array.from({ length: HOURS }, (_, hour) => (hour * 7) % 5)],
  })

export const total = (series: readonly number[]): number =>
  series.reduce((sum, count) => sum + count, 0)
