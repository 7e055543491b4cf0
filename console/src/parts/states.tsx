/** The states of a page that cannot show its data. */
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { formatClock, formatDuration } from '../words/dates.ts'
import { CopyButton } from './copy-button.tsx'
import { statesTexts as texts } from './states.texts.ts'
import { ToneBadge } from './status-badge.tsx'
import './states.css'

interface StateProps {
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
}

/** An empty list. Names the records that the list will contain, and how to add the first one. */
export function Empty({ title, children, action }: StateProps) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action && <div className="row">{action}</div>}
    </div>
  )
}

/** A list whose filters match nothing. */
export function NothingFound({ children, onClear }: { children: ReactNode; onClear: () => void }) {
  return (
    <Empty
      title={texts.nothingFound}
      action={
        <button type="button" onClick={onClear}>
          {commonTexts.clearFilters}
        </button>
      }
    >
      {children}
    </Empty>
  )
}

/** A page after the last row of a list, for example after the only record of the last page was deleted. */
export function PastEnd({ onFirst }: { onFirst: () => void }) {
  return (
    <Empty
      title={texts.pastEnd}
      action={
        <button type="button" onClick={onFirst}>
          {texts.firstPage}
        </button>
      }
    >
      {texts.pastEndBody}
    </Empty>
  )
}

interface ErrorStateProps {
  /** The API's error message, and the next step for the user. */
  readonly detail: string
  readonly requestId?: string | undefined
  readonly onRetry?: () => void
}

/** A failed request: the cause, a button to try again, and the request id for support. */
export function ErrorState({ detail, requestId, onRetry }: ErrorStateProps) {
  return (
    <div className="state" role="alert">
      <ToneBadge tone="failed">{texts.errorTitle}</ToneBadge>
      <p>{detail}</p>
      {onRetry && (
        <div className="row">
          <button type="button" onClick={onRetry}>
            {commonTexts.tryAgain}
          </button>
        </div>
      )}
      {requestId && <RequestId id={requestId} />}
    </div>
  )
}

/** The id of a request, with a button to copy it. */
export function RequestId({ id }: { id: string }) {
  return (
    <span className="request-id small">
      {texts.requestId} <code>{id}</code>
      <CopyButton text={id} label={texts.copyRequestId} />
    </span>
  )
}

/** The page for users whose role has no access. */
export function NoRight() {
  return <Empty title={texts.noRightTitle}>{texts.noRight}</Empty>
}

/** A banner above data that could not be refreshed. */
export function StaleBanner({ since, onRetry }: { since: Date; onRetry: () => void }) {
  return (
    <div className="banner" role="status">
      <span className="grow">{texts.stale(formatClock(since))}</span>
      <button type="button" onClick={onRetry}>
        {commonTexts.tryAgain}
      </button>
    </div>
  )
}

interface TooManyRequestsProps {
  /** The number of seconds to wait, as the API requested. */
  readonly seconds: number
  /** Called once, after the countdown. */
  readonly onEnd: () => void
}

/** Counts down after too many requests. To restart it for a later refusal, the caller must set a new React key. */
export function TooManyRequests({ seconds, onEnd }: TooManyRequestsProps) {
  const left = useCountdown(seconds, onEnd)
  return (
    <div className="banner" role="timer" aria-live="off">
      {texts.tooMany(left < 120 ? `${left} s` : formatDuration(left))}
    </div>
  )
}

/** The page that is shown while the service is in maintenance mode. */
export function Maintenance() {
  return (
    <div className="state" role="status">
      <ToneBadge tone="waiting">{texts.maintenanceTitle}</ToneBadge>
      <p>{texts.maintenance}</p>
    </div>
  )
}

/** Returns the remaining seconds, and calls `onEnd` at zero. */
function useCountdown(seconds: number, onEnd: () => void): number {
  const [left, setLeft] = useState(seconds)
  const end = useEffectEvent(onEnd)
  useEffect(() => {
    if (left <= 0) {
      end()
      return
    }
    const timer = setTimeout(() => setLeft(left - 1), 1_000)
    return () => clearTimeout(timer)
  }, [left])
  return left
}
