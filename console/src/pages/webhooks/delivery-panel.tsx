import { useState } from 'react'
import { ApiError } from '../../api/problem.ts'
import { Ago } from '../../parts/ago.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { failureSentence } from '../../parts/form-faults.ts'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { formatFullTime } from '../../words/dates.ts'
import {
  type Attempt,
  type DeliveryDetails,
  useDelivery,
  useWebhookCommands,
  type WebhookDetails,
} from './data.ts'
import { advice, resultWords } from './webhook-state.ts'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.deliveries

interface DeliveryPanelProps {
  readonly webhook: WebhookDetails
  readonly id: number
  readonly returnFocusTo: string
  readonly onClose: () => void
}

/** The panel of one delivery: its attempts with the responses, and the request as it was sent. */
export function DeliveryPanel({ webhook, id, returnFocusTo, onClose }: DeliveryPanelProps) {
  const query = useDelivery(useClinicId(), webhook.id, id)
  const isUnknown = query.error instanceof ApiError && query.error.status === 404
  return (
    <Panel
      title={isUnknown ? texts.notFoundTitle : (query.data?.event ?? texts.delivery)}
      onClose={onClose}
      returnFocusTo={returnFocusTo}
      actions={query.data && !isUnknown && <Retry webhook={webhook} id={id} />}
    >
      <div className="card-body stack">
        {isUnknown ? (
          <p className="muted">{texts.notFound}</p>
        ) : (
          <QueryState query={query}>
            {(delivery) => (
              <>
                <Facts delivery={delivery} />
                <Attempts attempts={delivery.attempts} />
                <Request delivery={delivery} />
              </>
            )}
          </QueryState>
        )}
      </div>
    </Panel>
  )
}

function Facts({ delivery }: { delivery: DeliveryDetails }) {
  const { status, message_id, created_at, next_attempt_at } = delivery
  return (
    <dl className="facts">
      <dt>{texts.status}</dt>
      <dd>
        <StatusBadge kind="delivery" state={status} />
      </dd>
      <dt>{texts.message}</dt>
      <dd>
        <span className="mono small">{message_id}</span>{' '}
        <CopyButton text={message_id} label={texts.message} />
      </dd>
      <dt>{texts.time}</dt>
      <dd>
        <Ago at={created_at} />
      </dd>
      {next_attempt_at && (
        <>
          <dt>{texts.next}</dt>
          <dd>{formatFullTime(new Date(next_attempt_at))}</dd>
        </>
      )}
    </dl>
  )
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <section className="stack tight" aria-label={texts.attempts}>
      <h3>{texts.attempts}</h3>
      {attempts.length === 0 && <p className="muted">{texts.none}</p>}
      {attempts.toReversed().map((attempt, index) => (
        <AttemptPart
          key={`${attempt.number} ${attempt.started_at}`}
          attempt={attempt}
          isLatest={index === 0}
        />
      ))}
    </section>
  )
}

function AttemptPart({ attempt, isLatest }: { attempt: Attempt; isLatest: boolean }) {
  const { number, started_at, duration_ms, detail, response_body, address } = attempt
  const help = advice(attempt)
  return (
    <details open={isLatest || undefined}>
      <summary>
        {texts.attempt(number)}: <b>{resultWords(attempt)}</b>,{' '}
        <span className="muted">{texts.duration(duration_ms)}</span>
      </summary>
      <div className="stack tight attempt-result">
        <p className="muted small">
          {formatFullTime(new Date(started_at))} {address && <bdi>{address}</bdi>}
        </p>
        {help && <p>{help}</p>}
        {!help && detail && (
          <p>
            <bdi>{detail}</bdi>
          </p>
        )}
        {attempt.status_code !== null && (
          <>
            <p className="small muted">{texts.response}</p>
            {response_body ? (
              <pre className="mono code" dir="auto">
                {response_body}
              </pre>
            ) : (
              <p className="small">{texts.noResponse}</p>
            )}
          </>
        )}
      </div>
    </details>
  )
}

function Request({ delivery }: { delivery: DeliveryDetails }) {
  const { request_headers, request_body } = delivery
  const headers = Object.entries(request_headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
  return (
    <section className="stack tight" aria-label={texts.request}>
      <h3>{texts.request}</h3>
      <pre className="mono code">{headers}</pre>
      <p className="small muted">{texts.requestNote}</p>
      {request_body === null ? (
        <p>{texts.noBody}</p>
      ) : (
        <>
          <pre className="mono code" dir="auto">
            {request_body}
          </pre>
          <div className="row">
            <CopyButton text={request_body} />
          </div>
        </>
      )}
    </section>
  )
}

function Retry({ webhook, id }: { webhook: WebhookDetails; id: number }) {
  const { retry } = useWebhookCommands(useClinicId())
  const [isBusy, setBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  if (!webhook.is_active) return <p className="muted small">{texts.inactive}</p>
  const send = async () => {
    if (isBusy) return
    setBusy(true)
    setFault(undefined)
    try {
      await retry(webhook.id, id)
      showToast(texts.retried)
    } catch (error) {
      setFault(failureSentence(error))
    }
    setBusy(false)
  }
  return (
    <>
      <button type="button" aria-disabled={isBusy} onClick={() => void send()}>
        {texts.retry}
      </button>
      {fault && <p role="alert">{fault}</p>}
    </>
  )
}
