/** The state of the audit log below the title: up to which entry it was verified, and what was altered. */
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { failureSentence } from '../../parts/form-faults.ts'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { formatFullTime } from '../../words/dates.ts'
import { auditTexts } from './audit.texts.ts'
import { type LogVerification, useVerification } from './data.ts'
import { linkToFindings } from './links.ts'

const texts = auditTexts.log

/** Shows the state of the log when a person opens it, because the page itself loads with two requests. */
export function LogState() {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className="log-state" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{texts.label}</summary>
      {isOpen && <Verification />}
    </details>
  )
}

/** The state of the log, with a button that verifies it now. Empty until the state was loaded. */
function Verification() {
  const { log, verify } = useVerification()
  const start = useMutation({
    mutationFn: verify,
    onError: (error) => showToast(failureSentence(error)),
  })
  if (!log) return null
  const { running } = log
  // A verification in the background takes days. People can request one that does not.
  const isBusy = start.isPending || running?.is_requested === true
  return (
    <div className="row small">
      <div className="row grow" role="status">
        <State log={log} />
      </div>
      {running?.is_requested && (
        <span className="row muted number">
          <progress value={running.done} max={running.size} aria-label={texts.progress} />
          {texts.done(running.done, running.size)}
        </span>
      )}
      <button type="button" aria-disabled={isBusy} onClick={() => isBusy || start.mutate()}>
        {texts.verify}
      </button>
    </div>
  )
}

function State({ log: { findings, verified_at, verified_size } }: { log: LogVerification }) {
  if (findings > 0)
    return (
      <>
        <ToneBadge tone="failed">{texts.altered(findings)}</ToneBadge>
        <Link {...linkToFindings}>{texts.showFindings}</Link>
        <span className="muted">
          {texts.runbook} <code>docs/runbooks/audit-log-finding.md</code>
        </span>
      </>
    )
  if (verified_at === null) return <ToneBadge tone="off">{texts.never}</ToneBadge>
  return (
    <>
      <ToneBadge tone="ok">{texts.whole(verified_size)}</ToneBadge>
      <span className="muted">{texts.verifiedAt(formatFullTime(new Date(verified_at)))}</span>
    </>
  )
}
