/** The faults of a form, listed above it. The summary takes the focus when it appears. */
import { useSyncExternalStore } from 'react'
import { formTexts } from './form.texts.ts'
import { fieldId } from './form-context.ts'
import type { FormTrouble } from './form-faults.ts'
import './form.css'

interface SummaryProps {
  form: string
  trouble: FormTrouble
}

/** Lists the faults with links to their fields. */
export function FormSummary({ form, trouble }: SummaryProps) {
  const { message, faults, requestId, waitUntil } = trouble
  if (waitUntil !== undefined) return <WaitMessage message={message ?? ''} until={waitUntil} />
  return (
    <div className="form-summary" role="alert" tabIndex={-1} ref={takeFocus}>
      {faults.length > 0 && <p>{formTexts.faults(faults.length)}</p>}
      {message && <p>{message}</p>}
      {faults.length > 0 && (
        <ul>
          {faults.map(({ field, message: fault }) => (
            <li key={field}>
              <FaultLink target={fieldId(form, field)}>{fault}</FaultLink>
            </li>
          ))}
        </ul>
      )}
      {requestId && message && (
        <p className="form-request mono">{formTexts.requestId(requestId)}</p>
      )}
    </div>
  )
}

function FaultLink({ target, children }: { target: string; children: string }) {
  return (
    <a
      href={`#${target}`}
      onClick={(event) => {
        // Does not follow the link, because the router would treat the changed fragment as a navigation.
        event.preventDefault()
        document.getElementById(target)?.focus()
      }}
    >
      {children}
    </a>
  )
}

/**
 * Counts down to a time. Screen readers announce only the first and the last message, because announcing every second
 * would interrupt the user.
 */
export function WaitMessage({ message, until }: { message: string; until: number }) {
  const now = useSyncExternalStore(eachSecond, () => Math.floor(Date.now() / 1000))
  const left = Math.ceil(until / 1000 - now)
  return (
    <div className="form-summary attention" tabIndex={-1} ref={takeFocus}>
      <p>
        {message} {left > 0 && <span role="timer">{formTexts.tryAgainIn(left)}</span>}
      </p>
      <p role="status" className="form-now">
        {left > 0 ? '' : formTexts.tryAgainNow}
      </p>
    </div>
  )
}

function eachSecond(listener: () => void): () => void {
  const timer = setInterval(listener, 1000)
  return () => clearInterval(timer)
}

function takeFocus(summary: HTMLElement | null): void {
  summary?.focus()
}
