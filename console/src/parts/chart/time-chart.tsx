import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from 'react'
import { formatNumber } from '../../words/numbers.ts'
import { Bars, Cursor, Grid, Lines } from './plot.tsx'
import {
  type ChartKind,
  clampPoint,
  createScale,
  nearestPoint,
  type Series,
  timeLabel,
} from './scale.ts'
import { timeChartTexts as texts } from './time-chart.texts.ts'
import './time-chart.css'

interface TimeChartProps {
  readonly title: string
  /** The time of each value, as ISO 8601. */
  readonly times: readonly string[]
  readonly series: readonly Series[]
  readonly kind: ChartKind
  /** The position of a value whose time has not ended yet. */
  readonly partialAt?: number | undefined
  /** The period that the chart covers, such as "Last 24 hours". */
  readonly note: string
}

/**
 * Shows values over time in a chart. A cursor follows the pointer and the arrow keys, and a table contains the same
 * values.
 */
export function TimeChart(props: TimeChartProps) {
  const { title, series } = props
  const [isTable, setTable] = useState(false)
  const titleId = useId()
  const action = isTable ? texts.showChart : texts.showTable
  return (
    <section className="card" aria-labelledby={titleId}>
      <header>
        <h2 id={titleId}>{title}</h2>
        <button
          type="button"
          className="link"
          aria-label={texts.named(action, title)}
          onClick={() => setTable(!isTable)}
        >
          {action}
        </button>
      </header>
      <Legend series={series} kind={props.kind} />
      {isTable ? <ChartTable {...props} /> : <Chart {...props} />}
    </section>
  )
}

const HEIGHT = 190
const MIN_WIDTH = 220

function Chart({ title, times, series, kind, partialAt, note }: TimeChartProps) {
  const [box, width] = useWidth()
  const [cursor, setCursor] = useState<number>()
  const scale = createScale(kind, series, times.length, width, HEIGHT)
  const at = clampPoint(scale, cursor ?? times.length - 1)
  const reading = readingOf({ series, times, partialAt }, at)
  const moveByKey = (event: KeyboardEvent) => {
    const target = keyTarget(event.key, at, times.length)
    if (target === undefined) return
    event.preventDefault()
    setCursor(clampPoint(scale, target))
  }
  const Plot = kind === 'bars' ? Bars : Lines
  return (
    <>
      <div ref={box} className="plot">
        <div
          role="slider"
          tabIndex={0}
          aria-label={title}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, times.length - 1)}
          aria-valuenow={at}
          aria-valuetext={reading}
          onPointerMove={({ clientX, currentTarget }) =>
            setCursor(nearestPoint(scale, clientX - currentTarget.getBoundingClientRect().left))
          }
          onPointerLeave={() => setCursor(undefined)}
          onBlur={() => setCursor(undefined)}
          onKeyDown={moveByKey}
        >
          <svg width={width} height={HEIGHT} aria-hidden="true">
            <Grid scale={scale} times={times} />
            <Plot scale={scale} series={series} partialAt={partialAt} />
            {cursor !== undefined && <Cursor scale={scale} series={series} at={at} />}
          </svg>
        </div>
      </div>
      <p className="readout small" aria-hidden="true">
        {cursor === undefined ? <span className="muted">{note}</span> : reading}
      </p>
    </>
  )
}

function Legend({ series, kind }: { series: readonly Series[]; kind: ChartKind }) {
  return (
    <ul className="legend">
      {series.map(({ name, tone, isDashed, values }) => (
        <li key={name}>
          <svg className={`series-${tone}`} width="18" height="10" aria-hidden="true">
            {kind === 'bars' ? (
              <rect className="chart-fill" x="4" width="10" height="10" rx="2" />
            ) : (
              <path
                className="chart-line"
                d="M1 5h16"
                strokeDasharray={isDashed ? '4 3' : undefined}
              />
            )}
          </svg>
          {name} <b>{formatNumber(values.reduce((sum, value) => sum + value, 0))}</b>
        </li>
      ))}
    </ul>
  )
}

function ChartTable(props: TimeChartProps) {
  const { title, series, times } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls can be scrolled by keys
    <section className="chart-table" tabIndex={0} aria-label={texts.asTable(title)}>
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.time}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, at) => (
            <tr key={time}>
              <th scope="row">{labelOf(props, at)}</th>
              {series.map(({ name, values }) => (
                <td key={name} className="number">
                  {formatNumber(values[at] ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

type Times = Pick<TimeChartProps, 'times' | 'partialAt'>

function labelOf({ times, partialAt }: Times, at: number): string {
  const label = timeLabel(times[at] ?? '', times)
  return at === partialAt ? texts.partial(label) : label
}

function readingOf({ series, ...times }: Times & Pick<TimeChartProps, 'series'>, at: number) {
  if (times.times[at] === undefined) return ''
  const values = series.map(({ name, values }) => `${name} ${formatNumber(values[at] ?? 0)}`)
  return `${labelOf(times, at)}: ${values.join(', ')}`
}

function keyTarget(key: string, at: number, points: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    Home: 0,
    End: points - 1,
  }
  return targets[key]
}

function useWidth(): [box: { current: HTMLDivElement | null }, width: number] {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(560)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(MIN_WIDTH, Math.floor(entry.contentRect.width)))
    })
    if (box.current) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  return [box, width]
}
