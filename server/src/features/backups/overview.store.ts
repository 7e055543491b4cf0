/** The SQL for failed backup jobs in the overview. */
import { sql } from 'kysely'
import { ofInstallation, type TenantTx } from '../../platform/db/index.ts'
import type { BackupJobKind } from './backups.table.ts'

export interface FailedJob {
  job_id: string
  tenant_id: number | null
  kind: BackupJobKind
  failed_at: string
  /** The total number of failed jobs, including jobs beyond the limit. */
  count: number
}

/** Returns the jobs that failed after `after`. Omits a job if a later one of the same kind and tenant has succeeded. */
export async function findFailedJobs(
  tx: TenantTx,
  { tenantId, after, limit }: { tenantId: number | null; after: string; limit: number },
): Promise<FailedJob[]> {
  const { rows } = await sql<FailedJob>`
    select id::text as job_id, tenant_id, kind, finished_at as failed_at, count(*) over () as count
    from backup_jobs j
    where ${ofInstallation(tx, 'j.tenant_id', tenantId)}
      and status = 'failed' and finished_at > ${after}::timestamptz
      and not exists (
        select from backup_jobs later
        where later.kind = j.kind and later.tenant_id is not distinct from j.tenant_id
          and later.status = 'completed' and later.number > j.number)
    order by finished_at desc, number desc limit ${limit}`.execute(tx.db)
  return rows
}
