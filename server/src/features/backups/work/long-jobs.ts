import type { Scopes } from '../../../platform/db/index.ts'
import type { JobSource } from '../../../platform/feature/job-source.ts'
import { appendCancellation } from '../../../platform/jobs/index.ts'
import { addCaseNames } from '../restore-in-place/case-names.ts'
import type { RestoreResult } from '../restore-in-place/outcome.ts'
import { BACKUP_JOB_KINDS, BACKUP_JOBS, cancelBackupJob } from './long-jobs.store.ts'

export function backupJobs(db: Scopes): JobSource {
  return {
    kinds: BACKUP_JOB_KINDS,
    select: BACKUP_JOBS,
    addNames: (tx, result) => addCaseNames(tx, result as RestoreResult),
    cancel: (job, actor) =>
      db.acrossTenants(async (tx) => {
        if (!(await cancelBackupJob(tx, job.id, actor))) return false
        await appendCancellation(tx, job, actor)
        return true
      }),
  }
}
