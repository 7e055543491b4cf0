/** The figures of the last 24 hours, and the numbers of records in the clinic. */
import { Fragment } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { Sparkline } from '../../parts/chart/sparkline.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { formatNumber, formatShort } from '../../words/numbers.ts'
import type { Overview } from './data.ts'
import { overviewTexts } from './overview.texts.ts'

const texts = overviewTexts.figures

/** Shows five figures, each with its trend. */
export function Figures({ overview: { attention, counts } }: { overview: Overview }) {
  const { activity, deliveries } = counts
  return (
    <section className="figures" aria-label={texts.title}>
      <Figure
        title={texts.signIns}
        isEstimate={activity?.is_estimate}
        series={activity?.hourly.sign_ins}
        value={activity?.sign_ins}
      />
      <Figure
        title={texts.refused}
        isEstimate={activity?.is_estimate}
        series={activity?.hourly.refused_sign_ins}
        value={activity?.refused_sign_ins}
        tone={4}
      />
      <Figure
        title={texts.delivered}
        isEstimate={deliveries?.is_estimate}
        series={deliveries?.hourly.delivered}
        value={deliveries?.delivered}
      />
      <Figure
        title={texts.changes}
        isEstimate={activity?.is_estimate}
        series={activity?.hourly.changes}
        value={activity?.changes}
        tone={3}
      />
      <TestedBackup backup={attention.backups} />
    </section>
  )
}

interface FigureProps {
  readonly title: string
  readonly value: number | undefined
  readonly series: readonly number[] | undefined
  readonly isEstimate: boolean | undefined
  readonly tone?: 1 | 3 | 4
}

function Figure({ title, value, series, isEstimate, tone = 1 }: FigureProps) {
  if (value === undefined || !series) return <NoFigure title={title} />
  return (
    <div className="card card-body">
      <h2 className="small muted">{title}</h2>
      <div className="figure">
        {isEstimate && '≈\u00a0'}
        {formatShort(value)}
      </div>
      <Sparkline values={series} tone={tone} />
    </div>
  )
}

const NoFigure = ({ title }: { title: string }) => (
  <div className="card card-body">
    <h2 className="small muted">{title}</h2>
    <p className="muted">{texts.unknown}</p>
  </div>
)

function TestedBackup({ backup }: { backup: Overview['attention']['backups'] }) {
  if (!backup) return <NoFigure title={texts.backup} />
  return (
    <div className="card card-body">
      <h2 className="small muted">{texts.backup}</h2>
      <div className="figure">
        {backup.verified_at ? <Ago at={backup.verified_at} /> : texts.noBackup}
      </div>
      {backup.is_late ? (
        <ToneBadge tone="attention">{texts.late}</ToneBadge>
      ) : (
        backup.verified_at && (
          <ToneBadge tone={backup.drill_seconds === null ? 'waiting' : 'ok'}>
            {backup.drill_seconds === null ? texts.verified : texts.tested}
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
