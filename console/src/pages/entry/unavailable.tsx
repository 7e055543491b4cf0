/** Stands in for a page that could not be loaded. */
import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiError, retryDelayOf } from '../../api/problem.ts'
import { EntryPage } from './entry-page.tsx'
import { unavailableTexts as texts } from './unavailable.texts.ts'

/** Says what is wrong. While the service is away it tries again automatically. */
export function Unavailable({ error }: ErrorComponentProps) {
  const router = useRouter()
  const problem = error instanceof ApiError ? error : undefined
  const isPassing =
    problem !== undefined &&
    (problem.isUnavailable || problem.isUnreachable || problem.status === 429)
  useEffect(() => {
    if (!problem || !isPassing) return
    const seconds = problem.status === 429 ? (problem.retryAfter ?? 5) : retryDelayOf(problem)
    const timer = setTimeout(() => void router.invalidate(), seconds * 1000)
    return () => clearTimeout(timer)
  }, [problem, isPassing, router])
  return (
    <EntryPage
      className={isPassing ? 'away' : undefined}
      title={isPassing ? texts.away : texts.broken}
      lead={isPassing ? texts.awayLead : texts.brokenLead}
    >
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
