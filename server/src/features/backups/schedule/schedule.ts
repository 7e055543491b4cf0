/** Creates full backups on the schedule in BACKUP_SCHEDULE. */
import { randomUUID } from 'node:crypto'
import type { Cron } from '../../../lib/cron.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import { insertBackup, insertJob } from '../backups.store.ts'
import type { BackupReason } from '../backups.table.ts'
import type { BackupType } from '../file/format.ts'
import { isBeingCreated } from './schedule.store.ts'

const PLANNED = jobKind<Record<string, never>>('backups.planned')

export interface ScheduleDeps {
  db: Scopes
  jobs: Jobs
  /** The backup schedule. Undefined removes a schedule that was stored earlier. */
  cron: Cron | undefined
  wake(): void
}

export function schedulesBackups({ db, jobs, cron, wake }: ScheduleDeps): void {
  jobs.schedule(PLANNED, cron?.text)
  jobs.work(PLANNED, async () => {
    if (cron) await orderPlanned(db, wake)
  })
}

/** Queues a full backup unless one is already queued or running. Exported for its test. */
export async function orderPlanned(db: Scopes, wake: () => void): Promise<void> {
  await db.acrossTenants(async (tx) => {
    if (await isBeingCreated(tx, null)) return
    await queueBackup(tx, { type: 'full', tenant_id: null, reason: 'schedule' })
    tx.afterCommit(wake)
  })
}

/** Queues a backup with the system as its actor. Returns the ids of the job and the backup. */
export async function queueBackup(
  tx: TenantTx,
  subject: { type: BackupType; tenant_id: number | null; reason: BackupReason },
): Promise<{ job_id: string; backup_id: string }> {
  const job_id = randomUUID()
  const backup_id = randomUUID()
  const { tenant_id } = subject
  await insertBackup(tx, { id: backup_id, ...subject, created_by: null })
  const actor = JSON.stringify(SYSTEM)
  await insertJob(tx, { id: job_id, backup_id, tenant_id, kind: 'create', actor })
  return { job_id, backup_id }
}
