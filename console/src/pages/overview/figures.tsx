/** The figures of a period, and the numbers of records in the clinic. */
import { Fragment } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { Sparkline } from '../../parts/chart/sparkline.tsx'
import { type RangeStats, type Stats, seriesIn } from '../../parts/chart/stats.ts'
import { statsChartTexts } from '../../parts/chart/stats-chart.texts.ts'
import { ToneBadge } from '../../parts/status-badge.tsx'
import type { Overview } from '../../shell/overview.ts'
import { formatNumber, formatShort } from '../../words/numbers.ts'
import { overviewTexts } from './overview.texts.ts'

const texts = overviewTexts.figures

export interface FiguresProps {
  readonly loaded: RangeStats
  readonly backup: Overview['attention']['backups']
}

/** Shows five figures of the period, four of them with their trend. */
export function Figures({ loaded: { range, stats }, backup }: FiguresProps) {
  return (
    <section className="figures" aria-label={statsChartTexts.ranges[range].title}>
      <Figure title={texts.signIns} series={seriesIn(stats, 'sign_ins')} />
      <Figure title={texts.refused} series={seriesIn(stats, 'refused_sign_ins')} tone={4} />
      <Figure title={texts.delivered} series={seriesIn(stats, 'deliveries_delivered')} />
      <Figure title={texts.changes} series={seriesIn(stats, 'changes')} tone={3} />
      <TestedBackup backup={backup} />
    </section>
  )
}

interface FigureProps {
  readonly title: string
  readonly series: Stats['series'][number] | undefined
  readonly tone?: 1 | 3 | 4
}

function Figure({ title, series, tone = 1 }: FigureProps) {
  if (!series) return <NoFigure title={title} />
  return (
    <div className="card card-body">
      <h2 className="small muted">{title}</h2>
      <div className="figure">{formatShort(series.total)}</div>
      <Sparkline values={series.values} tone={tone} />
    </div>
  )
}

const NoFigure = ({ title }: { title: string }) => (
  <div className="card card-body">
    <h2 className="small muted">{title}</h2>
    <p className="muted">{texts.unknown}</p>
  </div>
)

function TestedBackup({ backup }: Pick<FiguresProps, 'backup'>) {
  if (!backup) return <NoFigure title={texts.backup} />
  const { verified_at, drill_seconds, tested_at } = backup
  const isTested = drill_seconds !== null
  // Without the time of the test, the time of the verification is not that of a "Tested backup".
  const title = verified_at !== null && tested_at === null ? texts.verifiedBackup : texts.backup
  return (
    <div className="card card-body">
      <h2 className="small muted">{title}</h2>
      <div className="figure">
        {verified_at ? <Ago at={tested_at ?? verified_at} /> : texts.noBackup}
      </div>
      {backup.is_late ? (
        <ToneBadge tone="attention">{texts.late}</ToneBadge>
      ) : (
        verified_at && (
          <ToneBadge tone={isTested ? 'ok' : 'waiting'}>
            {isTested ? texts.tested : texts.verified}
          </ToneBadge>
        )
      )}
    </div>
  )
}

/** One line with the numbers of people, departments, patients and webhooks. */
export function ClinicCounts({ counts }: { counts: Overview['counts'] }) {
  const words = overviewTexts.clinic
  const numberOf = (value: number, isEstimate: boolean) =>
    isEstimate ? overviewTexts.about(formatNumber(value)) : formatNumber(value)
  const { users, departments, patients, webhooks } = counts
  const parts = [
    users && words.users(numberOf(users.active, users.is_estimate), users.active),
    departments &&
      words.departments(numberOf(departments.total, departments.is_estimate), departments.total),
    patients && words.patients(numberOf(patients.total, patients.is_estimate), patients.total),
    webhooks && words.webhooks(webhooks.active),
    webhooks && webhooks.waiting > 0 && words.waiting(webhooks.waiting),
  ].filter((part) => typeof part === 'string')
  return (
    <p className="muted clinic-counts">
      {parts.map((part, at) => (
        <Fragment key={part}>
          {at > 0 && ' · '}
          <span>{part}</span>
        </Fragment>
      ))}
    </p>
  )
}
