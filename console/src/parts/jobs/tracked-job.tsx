import { type ReactNode, useState } from 'react'
import { useServiceAway } from '../../api/availability.ts'
import { ApiError } from '../../api/problem.ts'
import { useFocusAfterRemoval } from '../focus-heading.ts'
import { QueryState } from '../query-state.tsx'
import { jobProgressTexts as texts } from './job-progress.texts.ts'
import { JobProgress } from './job-progress.tsx'
import { viewOf } from './job-view.ts'
import { cancelJob, type ServiceJob, useJob } from './use-job.ts'

interface TrackedJobProps {
  readonly id: string
  /** Called once with the job that ended, for example to load a list again. */
  readonly onOver?: (job: ServiceJob) => void
  /** Shows the result of a completed job. */
  readonly children?: (job: ServiceJob) => ReactNode
}

/** Shows the progress of a job until it ends, with a button to cancel it. Set a React key to follow another job. */
export function TrackedJob({ id, onOver, children }: TrackedJobProps) {
  const query = useJob(id, onOver)
  const isAway = useServiceAway()
  return (
    <QueryState query={query}>
      {(job) => (
        <div className="stack">
          <JobProgress job={viewOf(job, isAway)} />
          {job.can_cancel && <CancelJob id={id} onCancelled={() => void query.refetch()} />}
          {job.status === 'completed' && children?.(job)}
        </div>
      )}
    </QueryState>
  )
}

function CancelJob({ id, onCancelled }: { id: string; onCancelled: () => void }) {
  const [isBusy, setBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  useFocusAfterRemoval()
  const cancel = async () => {
    if (isBusy) return
    setBusy(true)
    setFault(undefined)
    try {
      await cancelJob(id)
    } catch (error) {
      // The job may have ended before the request arrived. Its state is shown then.
      if (!(error instanceof ApiError) || error.code !== 'job_not_cancellable')
        setFault(error instanceof ApiError ? error.detail : String(error))
    }
    setBusy(false)
    onCancelled()
  }
  return (
    <div className="row">
      <button type="button" aria-disabled={isBusy} onClick={() => void cancel()}>
        {texts.cancel}
      </button>
      {fault && <p role="alert">{fault}</p>}
    </div>
  )
}
