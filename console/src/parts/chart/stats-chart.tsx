import { useState } from 'react'
import { timeZoneName } from '../../words/dates.ts'
import { formatMilliseconds } from '../../words/numbers.ts'
import { QueryState } from '../query-state.tsx'
import type { ChartKind, Series } from './scale.ts'
import {
  type RangeStats,
  STATS_RANGES,
  type Stats,
  type StatsSeries,
  seriesIn,
  useStats,
  useStatsRange,
} from './stats.ts'
import { statsChartTexts as texts } from './stats-chart.texts.ts'
import { TimeChart } from './time-chart.tsx'
import '../time-range.css'

interface StatsChartProps {
  readonly title: string
  /** At most four series. In a chart with lines, those after the first one are dashed. */
  readonly series: readonly StatsSeries[]
  readonly kind: ChartKind
}

/** Counts over time, which load once the reader opens them. For pages that show something else first. */
export function StatsOnDemand(props: StatsChartProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      className="card stats-details"
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{props.title}</summary>
      {isOpen && <StatsChart {...props} />}
    </details>
  )
}

/** Loads and shows counts over time, with a switch for the period. */
function StatsChart(props: StatsChartProps) {
  const query = useStats(props.series)
  return (
    <div className="stack tight" aria-busy={query.isFetching && query.isPlaceholderData}>
      <StatsRangeSwitch />
      <QueryState query={query}>{(loaded) => <StatsPlot {...props} loaded={loaded} />}</QueryState>
    </div>
  )
}

/** Chooses the period of all charts of the page. */
export function StatsRangeSwitch() {
  const [range, choose] = useStatsRange()
  return (
    <fieldset className="time-range">
      <legend className="hidden">{texts.range}</legend>
      <div className="segments">
        {STATS_RANGES.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === range}
            aria-label={texts.ranges[each].title}
            onClick={() => choose(each)}
          >
            {texts.ranges[each].button}
          </button>
        ))}
      </div>
    </fieldset>
  )
}

interface StatsPlotProps extends StatsChartProps {
  readonly loaded: RangeStats
}

/** Shows counts that the page has loaded. */
export function StatsPlot({ title, series, kind, loaded: { range, stats } }: StatsPlotProps) {
  const partial = stats.buckets.findIndex((bucket) => bucket.partial)
  const note = texts.note(texts.ranges[range].title, timeZoneName())
  const durations = durationsOf(stats, series)
  return (
    <TimeChart
      title={title}
      kind={kind}
      times={stats.buckets.map(({ at }) => at)}
      partialAt={partial === -1 ? undefined : partial}
      note={durations ? `${note}. ${durations}` : note}
      series={series.map((name, at) => ({
        name: texts.series[name],
        values: seriesIn(stats, name)?.values ?? [],
        tone: TONES[name],
        isDashed: kind === 'lines' && at > 0,
      }))}
    />
  )
}

const TONES: Readonly<Record<StatsSeries, Series['tone']>> = {
  sign_ins: 1,
  refused_sign_ins: 4,
  changes: 3,
  patient_reads: 1,
  payments_updated: 3,
  payments_succeeded: 1,
  payments_failed: 4,
  payments_canceled: 2,
  payments_refunded: 3,
  deliveries_delivered: 1,
  deliveries_failed: 4,
  deliveries_retried: 2,
}

function durationsOf(stats: Stats, series: readonly StatsSeries[]): string | undefined {
  const timed = series.map((name) => seriesIn(stats, name)?.durations).find((each) => each)
  if (!timed || timed.p50_ms === null || timed.p95_ms === null) return undefined
  return texts.durations(formatMilliseconds(timed.p50_ms), formatMilliseconds(timed.p95_ms))
}
