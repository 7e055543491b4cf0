/** Converts a job of the API to the properties of `JobProgress`. */
import { jobProgressTexts as texts } from './job-progress.texts.ts'
import type { Job } from './job-progress.tsx'
import type { ServiceJob } from './use-job.ts'

/**
 * Returns the view of a job.
 * @param isAway true while the service does not answer, as during a restore
 */
export function viewOf(job: ServiceJob, isAway: boolean): Job {
  const { status, done, total, unit, rate } = job
  const isWaiting = isAway && (status === 'running' || status === 'queued')
  return {
    state: isWaiting ? 'maintenance' : status,
    phase: phaseOf(job),
    unit,
    ...(done !== null && { done }),
    ...(total !== null && { total }),
    ...(done !== null && total !== null && rate && { secondsLeft: (total - done) / rate }),
    startedAt: job.started_at ?? job.created_at,
    ...(job.created_by_email !== null && { startedBy: job.created_by_email }),
  }
}

function phaseOf({ status, phase, error }: ServiceJob): string {
  if (status === 'failed') return error ?? texts.failed
  if (status === 'running') return phase ?? texts.running
  return texts[status]
}
