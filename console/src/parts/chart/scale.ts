/** Positions and labels of a chart over time. */
import { formatClock, formatDate, formatDayClock } from '../../words/dates.ts'

/** One line of values, or one layer of stacked bars, over the times of a chart. */
export interface Series {
  readonly name: string
  readonly values: readonly number[]
  readonly tone: 1 | 2 | 3 | 4
  readonly isDashed?: boolean
}

/** The way a chart draws its series. */
export type ChartKind = 'lines' | 'bars'

/** The dimensions of a chart, and the value at its top. */
export interface Scale {
  readonly kind: ChartKind
  readonly width: number
  readonly height: number
  readonly points: number
  readonly top: number
}

const STEPS = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]
const MARGIN = { left: 40, right: 8, top: 8, bottom: 22 }
const LABEL_WIDTH = 96
const DAY_MS = 86_400_000
const MIN_DAY_MS = 82_800_000

/** Creates the scale of a chart: its top is a round number above all values. */
export function createScale(
  kind: ChartKind,
  series: readonly Series[],
  points: number,
  width: number,
  height: number,
): Scale {
  const layers = series.map(({ values }) => values)
  const sums = Array.from({ length: points }, (_, at) => {
    const column = layers.map((values) => values[at] ?? 0)
    return kind === 'bars' ? column.reduce((sum, value) => sum + value, 0) : Math.max(...column)
  })
  return { kind, width, height, points, top: roundUp(Math.max(1, ...sums)) }
}

/** Returns the width of the part of a chart that shows data. */
const plotWidth = ({ width }: Scale): number => width - MARGIN.left - MARGIN.right

/** The horizontal position of a point. */
export function xOf(scale: Scale, at: number): number {
  if (scale.kind === 'bars') return MARGIN.left + (at + 0.5) * slotWidth(scale)
  return MARGIN.left + (at / Math.max(1, scale.points - 1)) * plotWidth(scale)
}

/** The vertical position of a value. */
export function yOf(scale: Scale, value: number): number {
  const height = scale.height - MARGIN.top - MARGIN.bottom
  return MARGIN.top + height - (value / scale.top) * height
}

/** The horizontal space for one bar. */
export const slotWidth = (scale: Scale): number => plotWidth(scale) / Math.max(1, scale.points)

/** Returns the point nearest to a horizontal position. */
export function nearestPoint(scale: Scale, x: number): number {
  const share = (x - MARGIN.left) / plotWidth(scale)
  const at = scale.kind === 'bars' ? share * scale.points - 0.5 : share * (scale.points - 1)
  return clampPoint(scale, Math.round(at))
}

/** Limits an index to the points of the chart. */
export const clampPoint = (scale: Scale, at: number): number =>
  Math.max(0, Math.min(at, scale.points - 1))

/** Returns the points with a label. Their number depends on the space. */
export function labelledPoints(scale: Scale): number[] {
  const every = Math.ceil(scale.points / Math.max(2, Math.floor(scale.width / LABEL_WIDTH)))
  return Array.from({ length: Math.ceil(scale.points / every) }, (_, index) => index * every)
}

/** The left and right ends of grid lines. */
export const gridEnds = (scale: Scale): { x1: number; x2: number } => ({
  x1: MARGIN.left,
  x2: scale.width - MARGIN.right,
})

/** Formats a time with the precision that suits the length of the chart. */
export function timeLabel(at: string, times: readonly string[]): string {
  const length = Date.parse(times.at(-1) ?? at) - Date.parse(times[0] ?? at)
  const time = new Date(at)
  if (hasDays(times)) return formatDate(time)
  if (length <= DAY_MS) return formatClock(time)
  return length <= 8 * DAY_MS ? formatDayClock(time) : formatDate(time)
}

/** True if the times are days, which have 23 hours or more. */
function hasDays([first, second]: readonly string[]): boolean {
  if (first === undefined || second === undefined) return false
  return Date.parse(second) - Date.parse(first) >= MIN_DAY_MS
}

/** Returns an even number, so that the half of the axis is a whole number too. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = STEPS.find((candidate) => value / power <= candidate) ?? 10
  return Math.max(2, 2 * Math.ceil((step * power) / 2))
}
