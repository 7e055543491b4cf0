import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api/problem.ts'
import { TrackedJob } from '../../parts/jobs/tracked-job.tsx'
import { isOver, type ServiceJob, useJob } from '../../parts/jobs/use-job.ts'
import { Empty } from '../../parts/states.tsx'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { Outcome, outcomeOf } from './outcome.tsx'
import { restoreTexts } from './restore.texts.ts'

const texts = restoreTexts.result

/**
 * The progress of a restore, and its result. At its end everyone is signed out, and signing in leads back here because
 * the URL has the job.
 */
export function RestoreProgress({ id }: { id: string }) {
  const { data: job, error } = useJob(id)
  if (error instanceof ApiError && error.status === 404)
    return (
      <Empty title={restoreTexts.unknownTitle} action={<StartAgain />}>
        {restoreTexts.unknown}
      </Empty>
    )
  return (
    <section className="stack" aria-label={restoreTexts.steps.restore}>
      {job && isOver(job) && <Result job={job} />}
      <div className="card card-body backup-card stack">
        <TrackedJob id={id} />
        {!(job && isOver(job)) && <p>{restoreTexts.progress.maintenance}</p>}
      </div>
      {job?.status === 'completed' && <Outcome outcome={outcomeOf(job)} />}
    </section>
  )
}

function StartAgain() {
  return (
    <Link to="." search={{}}>
      {texts.again}
    </Link>
  )
}

function Result({ job }: { job: ServiceJob }) {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const isRestored = job.status === 'completed'
  const safety = isRestored ? outcomeOf(job).safety_backup_id : null
  const backups = addressOf({ path: '/backups' }, person, clinicId)
  const audit = addressOf({ path: '/audit' }, person, clinicId)
  return (
    <div className="card card-body backup-card stack">
      <h2>
        <ToneBadge tone={isRestored ? 'ok' : 'failed'}>
          {isRestored ? texts.done : texts.failed}
        </ToneBadge>
      </h2>
      <p>{isRestored ? texts.doneLead(outcomeOf(job).access.total > 0) : texts.failedLead}</p>
      {safety !== null && (
        <p>
          {texts.safety}{' '}
          <Link to={backups} search={{ open: safety }}>
            {texts.showSafety}
          </Link>
        </p>
      )}
      <p className="row">
        <Link to={backups}>{texts.toBackups}</Link>
        {isRestored && (
          <Link to={audit} search={{ action: 'backup.restored' }}>
            {texts.audit}
          </Link>
        )}
        {!isRestored && <StartAgain />}
      </p>
    </div>
  )
}
