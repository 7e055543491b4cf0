import type { ReactNode } from 'react'
import { formatDuration } from '../words/dates.ts'
import { Ago } from './ago.tsx'
import { jobProgressTexts as texts } from './job-progress.texts.ts'
import { ToneBadge } from './status-badge.tsx'
import './job-progress.css'

/** A job of the service, with the data that its page has. */
export interface Job {
  /** `maintenance` while the service answers 503, as during a restore. */
  readonly state: 'queued' | 'running' | 'maintenance' | 'completed' | 'failed'
  /** The phase in words, or the result at the end. */
  readonly phase: string
  readonly done?: number
  readonly total?: number
  /** The noun for the counted items, in the singular. */
  readonly noun?: string
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
} as const

/** Shows the phase, the numbers and the result of a job. */
export function JobProgress({ job, auditLink }: JobProgressProps) {
  const isOver = job.state === 'completed' || job.state === 'failed'
  return (
    <div className="job">
      <div role="status">
        <ToneBadge tone={tones[job.state]}>
          {job.state === 'maintenance' ? texts.maintenance : job.phase}
        </ToneBadge>
      </div>
      {!isOver && <ProgressBar job={job} />}
      <p className="muted">
        {texts.started} <Ago at={job.startedAt} /> {job.startedBy && texts.by(job.startedBy)}
      </p>
      {isOver && auditLink && <p>{auditLink}</p>}
    </div>
  )
}

function ProgressBar({ job }: { job: Job }) {
  const { done, total, noun, secondsLeft } = job
  if (done === undefined || !total)
    return <progress aria-label={texts.progress}>{texts.progress}</progress>
  const parts = [
    noun ? texts.counted(done, total, noun) : texts.percent(done / total),
    ...(secondsLeft === undefined ? [] : [texts.left(formatDuration(secondsLeft))]),
  ]
  return (
    <>
      <progress aria-label={texts.progress} value={done} max={total} />
      <p>{parts.join(', ')}</p>
    </>
  )
}
