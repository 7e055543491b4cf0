import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api/problem.ts'
import { Ago } from '../../parts/ago.tsx'
import { Panel } from '../../parts/panel.tsx'
import { PanelContent } from '../../parts/panel-content.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatMoney } from '../../words/money.ts'
import { useIsOfAllClinics, usePayment } from './data.ts'
import { reasonWord } from './notifications.texts.ts'
import { providerNames, paymentsTexts as texts } from './payments.texts.ts'

interface PaymentPanelProps {
  readonly id: number
  readonly returnFocusTo: string
  readonly onClose: () => void
}

/** The panel of one payment, with the notifications about it. */
export function PaymentPanel({ id, returnFocusTo, onClose }: PaymentPanelProps) {
  const clinicId = useClinicId()
  const isOfAll = useIsOfAllClinics()
  const query = usePayment(id)
  const isUnknown =
    (query.error instanceof ApiError && query.error.status === 404) ||
    (query.data !== undefined && !isOfAll && query.data.tenant_id !== clinicId)
  const title = isUnknown ? texts.notFoundTitle : (query.data?.provider_payment_id ?? texts.payment)
  return (
    <Panel title={title} onClose={onClose} returnFocusTo={returnFocusTo}>
      <PanelContent>
        {isUnknown ? (
          <p className="muted">{texts.notFound}</p>
        ) : (
          <QueryState query={query}>{(payment) => <Facts payment={payment} />}</QueryState>
        )}
      </PanelContent>
    </Panel>
  )
}

type FoundPayment = NonNullable<ReturnType<typeof usePayment>['data']>

function Facts({ payment }: { payment: FoundPayment }) {
  const { status, provider, amount_refunded, test, created_at, updated_at } = payment
  return (
    <div className="stack">
      <dl className="facts">
        <dt>{texts.status}</dt>
        <dd>
          <StatusBadge kind="payment" state={status} />
        </dd>
        <dt>{texts.amount}</dt>
        <dd>{formatMoney(payment)}</dd>
        <dt>{texts.refunded}</dt>
        <dd>{formatMoney({ ...payment, amount: amount_refunded })}</dd>
        <dt>{texts.provider}</dt>
        <dd>{providerNames[provider] ?? provider}</dd>
        <dt>{texts.test}</dt>
        <dd>{test ? texts.isTest : texts.isReal}</dd>
        <dt>{texts.created}</dt>
        <dd>
          <Ago at={created_at} />
        </dd>
        <dt>{texts.changed}</dt>
        <dd>
          <Ago at={updated_at} />
        </dd>
      </dl>
      <Reports payment={payment} />
    </div>
  )
}

const SECOND_MS = 1_000

/** Returns the parameters of the page of notifications that show one of them, with those received around that time. */
function searchFor({ id, received_at }: FoundPayment['notifications'][number]) {
  const at = Date.parse(received_at)
  const [from, to] = [at - SECOND_MS, at + SECOND_MS].map((time) => new Date(time).toISOString())
  return { from, to, open: id }
}

function Reports({ payment: { notifications } }: { payment: FoundPayment }) {
  const inbox = addressOf({ path: '/payments/notifications' }, usePersonHere(), useClinicId())
  return (
    <section className="stack tight">
      <h3>{texts.reports}</h3>
      {notifications.length === 0 && <p className="muted">{texts.noReports}</p>}
      <ul className="payment-reports">
        {notifications.map((notification) => (
          <li key={notification.id}>
            <StatusBadge kind="notification" state={notification.state} />{' '}
            <Link to={inbox} search={searchFor(notification)}>
              <bdi className="mono">{notification.type}</bdi>
            </Link>
            <div className="muted">
              <Ago at={notification.received_at} />, {texts.received(notification.times_received)}
              {notification.reason !== null && <div>{reasonWord(notification.reason)}</div>}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
