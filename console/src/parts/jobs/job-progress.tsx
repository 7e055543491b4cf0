import type { ReactNode } from 'react'
import { formatDuration } from '../../words/dates.ts'
import { Ago } from '../ago.tsx'
import { ToneBadge } from '../status-badge.tsx'
import { type JobUnit, jobProgressTexts as texts } from './job-progress.texts.ts'
import './job-progress.css'

/** A job of the service, with the data that its page has. */
export interface Job {
  /** `maintenance` while the service answers 503, as during a restore. */
  readonly state: 'queued' | 'running' | 'maintenance' | 'completed' | 'failed' | 'cancelled'
  /** The phase in words, or the result at the end. */
  readonly phase: string
  readonly done?: number
  readonly total?: number
  /** The things that `done` and `total` count. */
  readonly unit?: JobUnit
  readonly secondsLeft?: number
  readonly startedAt: string
  readonly startedBy?: string
}

interface JobProgressProps {
  readonly job: Job
  /** The link to the audit entry of the result. */
  readonly auditLink?: ReactNode
}

const tones = {
  queued: 'waiting',
  running: 'waiting',
  maintenance: 'waiting',
  completed: 'ok',
  failed: 'failed',
  cancelled: 'off',
} as const

/** Shows the phase, the numbers and the result of a job. */
export function JobProgress({ job, auditLink }: JobProgressProps) {
  const isOver = ['completed', 'failed', 'cancelled'].includes(job.state)
  return (
    <div className="job">
      <div role="status">
        <ToneBadge tone={tones[job.state]}>
          {job.state === 'maintenance' ? texts.maintenance : job.phase}
        </ToneBadge>
      </div>
      {!isOver && <ProgressBar job={job} />}
      <p className="muted">
        {texts.started} <Ago at={job.startedAt} />{' '}
        {job.startedBy && <bdi>{texts.by(job.startedBy)}</bdi>}
      </p>
      {isOver && auditLink && <p>{auditLink}</p>}
    </div>
  )
}

function ProgressBar({ job }: { job: Job }) {
  const { done, total, unit, secondsLeft } = job
  if (done === undefined || !total)
    return <progress aria-label={texts.progress}>{texts.progress}</progress>
  const parts = [
    unit ? texts.counted(done, total, unit) : texts.percent(done / total),
    ...(secondsLeft === undefined ? [] : [texts.left(formatDuration(secondsLeft))]),
  ]
  return (
    <>
      <progress aria-label={texts.progress} value={done} max={total} />
      <p>{parts.join(', ')}</p>
    </>
  )
}
