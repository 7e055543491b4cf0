import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { useFocusAfterRemoval } from '../../parts/focus-heading.ts'
import { failureSentence } from '../../parts/form-faults.ts'
import { Panel } from '../../parts/panel.tsx'
import { PanelContent } from '../../parts/panel-content.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { addressOf } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber } from '../../words/numbers.ts'
import { isAdministrator } from '../../words/roles.ts'
import { statusWord } from '../../words/statuses.ts'
import { loadBody, type PaymentNotification, useNotificationCommands } from './notification-data.ts'
import { reasonWord, notificationsTexts as texts } from './notifications.texts.ts'
import { providerNames } from './payments.texts.ts'

interface NotificationPanelProps {
  /** Undefined if the notification is not on this page of the list. */
  readonly notification: PaymentNotification | undefined
  readonly returnFocusTo: string
  readonly onClose: () => void
}

/** The panel of one notification. It loads the body only on request, because each read is recorded. */
export function NotificationPanel({ notification, ...panel }: NotificationPanelProps) {
  const [wasListed, setListed] = useState(false)
  if (notification && !wasListed) setListed(true)
  const mayRead = isAdministrator(usePersonHere().role)
  if (!notification)
    return (
      <Panel title={texts.notification} {...panel}>
        <p className="card-body muted">{wasListed ? texts.left : texts.elsewhere}</p>
      </Panel>
    )
  const isOpen = notification.state === 'failed' || notification.state === 'unverified'
  return (
    <Panel
      title={notification.type}
      actions={mayRead && isOpen && <Process id={notification.id} />}
      {...panel}
    >
      <PanelContent>
        <Facts notification={notification} />
        {mayRead && <Body id={notification.id} />}
      </PanelContent>
    </Panel>
  )
}

function Facts({ notification }: { notification: PaymentNotification }) {
  const { state, reason, provider, event_key, payment_id, tenant_id } = notification
  const person = usePersonHere()
  return (
    <dl className="facts">
      <dt>{texts.state}</dt>
      <dd>
        <StatusBadge kind="notification" state={state} />
      </dd>
      {reason !== null && (
        <>
          <dt>{texts.reason}</dt>
          <dd>{reasonWord(reason)}</dd>
        </>
      )}
      <dt>{texts.provider}</dt>
      <dd>{providerNames[provider] ?? provider}</dd>
      <dt>{texts.event}</dt>
      <dd>
        <bdi className="payment-id mono">{event_key}</bdi>
      </dd>
      <dt>{texts.payment}</dt>
      <dd>
        {payment_id === null || tenant_id === null ? (
          <bdi className="muted">{notification.provider_payment_id ?? texts.noPayment}</bdi>
        ) : (
          <Link
            to={addressOf({ path: '/payments' }, person, tenant_id)}
            search={{ open: payment_id }}
          >
            <bdi className="payment-id mono">{notification.provider_payment_id}</bdi>
          </Link>
        )}
      </dd>
      <dt>{texts.received}</dt>
      <dd>
        <Ago at={notification.received_at} />
      </dd>
      <dt>{texts.times}</dt>
      <dd>{formatNumber(notification.times_received)}</dd>
      <dt>{texts.attempts}</dt>
      <dd>{formatNumber(notification.attempts)}</dd>
      <dt>{texts.processed}</dt>
      <dd>
        <Ago at={notification.processed_at} />
      </dd>
      <dt>{texts.next}</dt>
      <dd>
        <Ago at={notification.next_attempt_at} absent={texts.noNext} />
      </dd>
    </dl>
  )
}

const takeFocus = (element: HTMLElement | null) => element?.focus()

/** The button that loads the body, and then the body, which takes the focus. The body is not cached. */
function Body({ id }: { id: number }) {
  const [body, setBody] = useState<string>()
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const show = async () => {
    if (isBusy) return
    setBusy(true)
    setFault(undefined)
    try {
      setBody(await loadBody(id))
    } catch (error) {
      setFault(failureSentence(error))
    }
    setBusy(false)
  }
  return (
    <section className="stack tight" aria-label={texts.body}>
      <h3>{texts.body}</h3>
      {body === undefined ? (
        <>
          <p className="muted">{texts.bodyHint}</p>
          <div className="row">
            <button type="button" aria-disabled={isBusy} onClick={() => void show()}>
              {texts.showBody}
            </button>
          </div>
          {fault && <p role="alert">{fault}</p>}
        </>
      ) : (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a long body */}
          <pre ref={takeFocus} className="notification-body" tabIndex={0}>
            {body}
          </pre>
          <div className="row">
            <CopyButton text={body} />
          </div>
        </>
      )}
    </section>
  )
}

function Process({ id }: { id: number }) {
  useFocusAfterRemoval()
  const { process } = useNotificationCommands()
  const [isBusy, setBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  const send = async () => {
    if (isBusy) return
    setBusy(true)
    setFault(undefined)
    try {
      const { state, reason } = await process(id)
      if (state === 'received') showToast(texts.retried)
      else setFault(reason ? reasonWord(reason) : statusWord('notification', state).word)
    } catch (error) {
      setFault(failureSentence(error))
    }
    setBusy(false)
  }
  return (
    <>
      <button type="button" aria-disabled={isBusy} onClick={() => void send()}>
        {texts.process}
      </button>
      {fault && <p role="alert">{fault}</p>}
    </>
  )
}
