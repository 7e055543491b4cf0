/** Replaces a page that failed to load. */
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiError, retryDelayOf } from '../../api/problem.ts'
import { WaitMessage } from '../../parts/form-summary.tsx'
import { EntryPage } from './entry-page.tsx'
import { unavailableTexts as texts } from './unavailable.texts.ts'

/** Explains the failure. Retries automatically while the service is unavailable. */
export function Unavailable({ error }: ErrorComponentProps) {
  const router = useRouter()
  const problem = error instanceof ApiError ? error : undefined
  const isPassing = problem?.isPassing ?? false
  const isLimited = problem?.status === 429
  const isRestoring = problem?.code === 'restoring'
  useEffect(() => {
    if (!problem?.isPassing) return
    const timer = setTimeout(() => void router.invalidate(), retryDelayOf(problem) * 1000)
    return () => clearTimeout(timer)
  }, [problem, router])
  const [title, lead] = isLimited
    ? [texts.tooMany, texts.tooManyLead]
    : isPassing
      ? [isRestoring ? texts.restoring : texts.away, texts.awayLead]
      : [texts.broken, texts.brokenLead]
  return (
    <EntryPage className={isPassing ? 'away' : undefined} title={title} lead={lead}>
      {isLimited && (
        <WaitMessage message="" until={problem.receivedAt + retryDelayOf(problem) * 1000} />
      )}
      <button type="button" className="wide" onClick={() => void router.invalidate()}>
        {texts.tryAgain}
      </button>
      {problem?.requestId && (
        <p className="muted small">
          {texts.request} <code>{problem.requestId}</code>
        </p>
      )}
    </EntryPage>
  )
}
