import { Link } from '@tanstack/react-router'
import { Ago } from '../../parts/ago.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatFullTime } from '../../words/dates.ts'
import { formatNumber } from '../../words/numbers.ts'
import type { WebhookDetails } from './data.ts'
import { HourBar } from './hour-bar.tsx'
import { advice, inactiveReason, resultWords, webhookState } from './webhook-state.ts'
import { webhookTexts as texts } from './webhooks.texts.ts'

const why = texts.why

/** The state of a webhook in words, why it fails, and its figures. */
export function WebhookStatePart({ webhook }: { webhook: WebhookDetails }) {
  const {
    url,
    events,
    is_active,
    failing_since,
    waiting,
    stats,
    previous_secret_until: until,
  } = webhook
  const reason = inactiveReason(webhook)
  const to = addressOf({ path: '/webhooks' }, usePersonHere(), useClinicId())
  return (
    <section className="card webhook-state" aria-label={why.title}>
      <div className="card-body webhook-head">
        <dl className="facts grow">
          <dt>{texts.state}</dt>
          <dd>
            <StatusBadge kind="webhook" state={webhookState(webhook)} />{' '}
            {failing_since && (
              <>
                ({why.since} <Ago at={failing_since} />)
              </>
            )}
            {reason && <p>{reason}</p>}
            {is_active && waiting > 0 && <p>{why.sentAfterTest}</p>}
          </dd>
          <LastFailure webhook={webhook} />
          <dt>{texts.address}</dt>
          <dd>
            <bdi className="mono">{url}</bdi>
          </dd>
          <dt>{texts.events}</dt>
          <dd>{events.includes('*') ? texts.allEvents : events.join(', ')}</dd>
          {until && (
            <>
              <dt>{texts.secret.label}</dt>
              <dd>{texts.secret.until(formatFullTime(new Date(until)))}</dd>
            </>
          )}
        </dl>
        <dl className="facts">
          <dt>{texts.day}</dt>
          <dd>
            <HourBar stats={stats} />
          </dd>
          <dt>{is_active ? why.waiting : why.held}</dt>
          <dd>{formatNumber(waiting)}</dd>
          <dt>
            <Link to={to}>{texts.back}</Link>
          </dt>
        </dl>
      </div>
    </section>
  )
}

function LastFailure({ webhook }: { webhook: WebhookDetails }) {
  const last = webhook.last_failure
  if (!last) return null
  const help = advice(last)
  return (
    <>
      <dt>{why.last}</dt>
      <dd>
        <b>
          {last.status_code === null ? resultWords(last) : why.answered(String(last.status_code))}
        </b>{' '}
        <Ago at={last.started_at} />
        {help && <p>{help}</p>}
      </dd>
    </>
  )
}
