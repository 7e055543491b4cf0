import type { Series } from './scale.ts'
import './time-chart.css'

const WIDTH = 98
const HEIGHT = 28
const EDGE = 3

/** Shows the trend of a figure as a small line beside its number. */
export function Sparkline({
  values,
  tone = 1,
}: Pick<Series, 'values'> & { tone?: Series['tone'] }) {
  const max = Math.max(1, ...values)
  const points = values.map((value, at) => ({
    x: EDGE + (at / Math.max(1, values.length - 1)) * (WIDTH - 2 * EDGE),
    y: HEIGHT - EDGE - (value / max) * (HEIGHT - 2 * EDGE),
  }))
  const last = points.at(-1)
  return (
    <svg className={`series-${tone}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <polyline className="chart-line" points={points.map(({ x, y }) => `${x},${y}`).join(' ')} />
      {last && <circle className="chart-fill" cx={last.x} cy={last.y} r="2.5" />}
    </svg>
  )
}
