import { TimeChart } from '../../parts/chart/time-chart.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { timeZoneName } from '../../words/dates.ts'
import { type Overview, useOverview } from './data.ts'
import { ClinicCounts, Figures } from './figures.tsx'
import { Health } from './health.tsx'
import { LatestChanges } from './latest-changes.tsx'
import { Needs } from './needs.tsx'
import { partNames, overviewTexts as texts } from './overview.texts.ts'
import './overview.css'

const HOUR_MS = 3_600_000

/** The start page of administrators: items that need attention, the figures of a day, and the health of the service. */
export function Page() {
  const query = useOverview()
  return (
    <>
      <PageHead title={texts.title} />
      <div className="stack" aria-busy={query.isPending}>
        <QueryState query={query}>
          {(overview) => (
            <>
              <Missing parts={overview.missing} />
              <ClinicCounts counts={overview.counts} />
              <Needs overview={overview} />
              <Figures overview={overview} />
              <div className="halves">
                <Charts overview={overview} />
                <Health health={overview.health} />
                <LatestChanges />
              </div>
            </>
          )}
        </QueryState>
      </div>
    </>
  )
}

function Missing({ parts }: { parts: readonly string[] }) {
  if (parts.length === 0) return null
  const names = parts.map((part) => partNames[part] ?? part)
  return (
    <div className="banner" role="status">
      {texts.missing(names.join(', '))}
    </div>
  )
}

function Charts({ overview: { counts, since } }: { overview: Overview }) {
  const { activity, deliveries } = counts
  const begin = Date.parse(since)
  const timesOf = (values: readonly number[]) =>
    values.map((_, hour) => new Date(begin + hour * HOUR_MS).toISOString())
  const note = texts.charts.note(timeZoneName())
  const noteOf = (isEstimate: boolean) => (isEstimate ? texts.charts.estimate(note) : note)
  return (
    <>
      {activity && (
        <TimeChart
          title={texts.charts.signIns}
          kind="lines"
          times={timesOf(activity.hourly.sign_ins)}
          note={noteOf(activity.is_estimate)}
          series={[
            { name: texts.charts.signedIn, values: activity.hourly.sign_ins, tone: 1 },
            {
              name: texts.charts.refused,
              values: activity.hourly.refused_sign_ins,
              tone: 4,
              isDashed: true,
            },
          ]}
        />
      )}
      {deliveries && (
        <TimeChart
          title={texts.charts.deliveries}
          kind="bars"
          times={timesOf(deliveries.hourly.delivered)}
          note={noteOf(deliveries.is_estimate)}
          series={[
            { name: texts.charts.delivered, values: deliveries.hourly.delivered, tone: 1 },
            { name: texts.charts.failed, values: deliveries.hourly.failed, tone: 2 },
          ]}
        />
      )}
    </>
  )
}
