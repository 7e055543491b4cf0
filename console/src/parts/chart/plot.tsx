import { Fragment } from 'react'
import { formatShort } from '../../words/numbers.ts'
import {
  gridEnds,
  labelledPoints,
  type Scale,
  type Series,
  slotWidth,
  timeLabel,
  xOf,
  yOf,
} from './scale.ts'

interface PlotProps {
  readonly scale: Scale
  readonly series: readonly Series[]
  /** The position of a value whose time has not ended yet. */
  readonly partialAt?: number | undefined
}

/** Draws the grid of a chart, with its values and times. */
export function Grid({ scale, times }: { scale: Scale; times: readonly string[] }) {
  const ends = gridEnds(scale)
  return (
    <>
      {[0, scale.top / 2, scale.top].map((value) => (
        <Fragment key={value}>
          <line {...ends} y1={yOf(scale, value)} y2={yOf(scale, value)} className="grid-line" />
          <text x={ends.x1 - 6} y={yOf(scale, value) + 4} textAnchor="end">
            {formatShort(value)}
          </text>
        </Fragment>
      ))}
      {labelledPoints(scale).map((at) => {
        const time = times[at]
        if (time === undefined) return null
        return (
          <text
            key={time}
            x={xOf(scale, at)}
            y={scale.height - 5}
            textAnchor={at === 0 && scale.kind === 'lines' ? 'start' : 'middle'}
          >
            {timeLabel(time, times)}
          </text>
        )
      })}
    </>
  )
}

/** Draws lines. The first line has a shaded area below it. The way to a partial value is dotted. */
export function Lines({ scale, series, partialAt }: PlotProps) {
  return series.map(({ name, values, tone, isDashed }) => {
    const points = values.map((value, at) => `${xOf(scale, at)},${yOf(scale, value)}`)
    const base = yOf(scale, 0)
    return (
      <g key={name} className={`series-${tone}`}>
        {tone === 1 && (
          <polygon
            className="chart-area"
            points={[
              `${xOf(scale, 0)},${base}`,
              ...points,
              `${xOf(scale, values.length - 1)},${base}`,
            ].join(' ')}
          />
        )}
        {partialAt !== undefined && (
          <polyline
            className="chart-line partial"
            points={points.slice(Math.max(0, partialAt - 1), partialAt + 1).join(' ')}
            strokeDasharray="1 4"
          />
        )}
        <polyline
          className="chart-line"
          points={points.slice(0, partialAt).join(' ')}
          strokeDasharray={isDashed ? '5 4' : undefined}
        />
      </g>
    )
  })
}

const BAR_SHARE = 0.72

/** Draws stacked bars, with the first series at the bottom. The bar of a partial value is lighter. */
export function Bars({ scale, series, partialAt }: PlotProps) {
  const width = slotWidth(scale) * BAR_SHARE
  return series.map(({ name, values, tone }, layer) => (
    <g key={name} className={`series-${tone}`}>
      {values.map((value, at) => {
        const below = series
          .slice(0, layer)
          .reduce((sum, other) => sum + (other.values[at] ?? 0), 0)
        const top = yOf(scale, below + value)
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is known by its position in time
            key={at}
            className={at === partialAt ? 'chart-fill partial' : 'chart-fill'}
            x={xOf(scale, at) - width / 2}
            y={top}
            width={width}
            height={yOf(scale, below) - top}
          />
        )
      })}
    </g>
  ))
}

/** Draws the line at the chosen time, with a dot on each line of values. */
export function Cursor({ scale, series, at }: PlotProps & { at: number }) {
  const x = xOf(scale, at)
  return (
    <>
      <line x1={x} x2={x} y1={yOf(scale, scale.top)} y2={yOf(scale, 0)} className="cursor" />
      {scale.kind === 'lines' &&
        series.map(({ name, values, tone }) => (
          <circle
            key={name}
            className={`chart-fill series-${tone}`}
            cx={x}
            cy={yOf(scale, values[at] ?? 0)}
            r="3.5"
          />
        ))}
    </>
  )
}
