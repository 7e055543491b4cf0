import { useStats } from '../../parts/chart/stats.ts'
import { StatsPlot, StatsRangeSwitch } from '../../parts/chart/stats-chart.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { useOverview } from '../../shell/overview.ts'
import { SHOWN_SERIES } from './data.ts'
import { ClinicCounts, Figures, type FiguresProps } from './figures.tsx'
import { Health } from './health.tsx'
import { LatestChanges } from './latest-changes.tsx'
import { Needs } from './needs.tsx'
import { partNames, overviewTexts as texts } from './overview.texts.ts'
import './overview.css'

/** The start page of administrators: items that need attention, figures over time, and the health of the service. */
export function Page() {
  const query = useOverview()
  // Loads at the same time as the overview.
  const stats = useStats(SHOWN_SERIES)
  return (
    <>
      <PageHead title={texts.title} actions={<StatsRangeSwitch />} />
      <div className="stack" aria-busy={query.isPending}>
        <QueryState query={query}>
          {(overview) => (
            <>
              <Missing parts={overview.missing} />
              <ClinicCounts counts={overview.counts} />
              <Needs overview={overview} />
              <OverTime query={stats} backup={overview.attention.backups} />
              <div className="halves">
                <Health health={overview.health} />
                <LatestChanges changes={overview.counts.latest_changes} />
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

interface OverTimeProps extends Pick<FiguresProps, 'backup'> {
  readonly query: ReturnType<typeof useStats>
}

/** The figures and charts of the period. */
function OverTime({ query, backup }: OverTimeProps) {
  return (
    <div className="stack" aria-busy={query.isFetching && query.isPlaceholderData}>
      <QueryState query={query}>
        {(loaded) => (
          <>
            <Figures loaded={loaded} backup={backup} />
            <div className="halves">
              <StatsPlot
                title={texts.charts.signIns}
                kind="lines"
                series={['sign_ins', 'refused_sign_ins']}
                loaded={loaded}
              />
              <StatsPlot
                title={texts.charts.deliveries}
                kind="bars"
                series={['deliveries_delivered', 'deliveries_failed']}
                loaded={loaded}
              />
            </div>
          </>
        )}
      </QueryState>
    </div>
  )
}
