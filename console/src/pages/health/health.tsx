import { useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { Ago } from '../../parts/ago.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { StatusBadge, ToneBadge } from '../../parts/status-badge.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { componentNames } from '../../words/components.texts.ts'
import { formatDuration } from '../../words/dates.ts'
import { formatNumber } from '../../words/numbers.ts'
import { componentWork, healthTexts as texts } from './health.texts.ts'
import './health.css'

type HealthReport = Schemas['AdminHealth']
type Component = HealthReport['components'][number]

const REFRESH_MS = 15_000

/** The state of every part of the service, in words, with what to do about it. */
export function Page() {
  const clinicId = useClinicId()
  const query = useQuery({
    queryKey: ['health', clinicId],
    queryFn: () => take(api.GET('/api/admin/health')),
    refetchInterval: REFRESH_MS,
  })
  return (
    <>
      <PageHead title={texts.title} />
      <QueryState query={query}>
        {(report) => (
          <div className="stack">
            <Components components={report.components} />
            <About report={report} />
          </div>
        )}
      </QueryState>
    </>
  )
}

function Components({ components }: { components: readonly Component[] }) {
  const failing = components.filter(({ state }) => state !== 'ok')
  const well = components.filter(({ state }) => state === 'ok')
  return (
    <section className="card" aria-labelledby="components">
      <header>
        <h2 id="components">{texts.components}</h2>
        <span role="status">
          {failing.length === 0 ? (
            <ToneBadge tone="ok">{texts.allOk}</ToneBadge>
          ) : (
            <ToneBadge tone="attention">{texts.attention(failing.length)}</ToneBadge>
          )}
        </span>
      </header>
      <ul className="health-parts">
        {[...failing, ...well].map((component) => (
          <ComponentItem key={component.name} component={component} />
        ))}
      </ul>
    </section>
  )
}

function ComponentItem({ component }: { component: Component }) {
  const { name, state, reason, since, runbook } = component
  return (
    <li>
      <div className="row">
        <h3 className="grow">{componentNames[name] ?? name}</h3>
        <StatusBadge kind="health" state={state} />
      </div>
      <p className="muted">{componentWork[name]}</p>
      {state === 'ok' && reason && <p>{reason}</p>}
      {state !== 'ok' && (
        <dl className="facts">
          <dt>{texts.why}</dt>
          <dd>{reason ?? texts.unknown}</dd>
          <dt>{texts.since}</dt>
          <dd>
            <Ago at={since} absent={texts.unknown} />
          </dd>
          <dt>{texts.help}</dt>
          <dd>{runbook ? texts.runbook(`docs/runbooks/${runbook}`) : texts.nothing}</dd>
        </dl>
      )}
    </li>
  )
}

function About({ report }: { report: HealthReport }) {
  const { database } = report
  return (
    <section className="card" aria-labelledby="service">
      <header>
        <h2 id="service">{texts.service}</h2>
        <span className="small muted">{texts.uptimeNote}</span>
      </header>
      <dl className="facts card-body">
        <dt>{texts.version}</dt>
        <dd>{report.version}</dd>
        <dt>{texts.uptime}</dt>
        <dd>{formatDuration(report.uptime_seconds)}</dd>
        <dt>{texts.database}</dt>
        <dd>
          {database.engine}
          {database.embedded && `, ${texts.embedded}`}
        </dd>
        <dt>{texts.latency}</dt>
        <dd>{texts.milliseconds(database.latency_ms)}</dd>
        <dt>{texts.encryption}</dt>
        <dd>{report.encryption_enabled ? texts.encrypted : texts.unencrypted}</dd>
        <dt>{texts.clinics}</dt>
        <dd>{formatNumber(report.tenants_count)}</dd>
        <dt>{texts.people}</dt>
        <dd>{formatNumber(report.users_count)}</dd>
        <dt>{texts.patients}</dt>
        <dd>{formatNumber(report.patients_count)}</dd>
      </dl>
    </section>
  )
}
