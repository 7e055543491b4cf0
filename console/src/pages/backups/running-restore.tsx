import { Link } from '@tanstack/react-router'
import { isOver, useLatestJob } from '../../parts/jobs/use-job.ts'
import { ToneBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { backupTexts } from './backups.texts.ts'

const texts = backupTexts.restore

/** Says that a restore is running, which anyone may have started. */
export function RunningRestore() {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const { data: job } = useLatestJob('restore')
  if (!job || isOver(job)) return null
  const { job_id, subject_id, tenant_id, created_by_email } = job
  const search = {
    backup: subject_id ?? undefined,
    scope: tenant_id === null ? 'all' : 'clinic',
    job: job_id,
  }
  return (
    <div className="banner row" role="status">
      <ToneBadge tone="waiting">{texts.running}</ToneBadge>
      {created_by_email && <bdi>{texts.by(created_by_email)}</bdi>}
      <Link
        to={addressOf({ path: '/backups/restore' }, person, tenant_id ?? clinicId)}
        search={search}
      >
        {texts.show}
      </Link>
    </div>
  )
}
