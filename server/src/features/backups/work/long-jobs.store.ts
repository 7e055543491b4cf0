/** SQL that lists and cancels backup jobs. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { LongJobRow } from '../../../platform/feature/job-source.ts'
import type { Actor } from '../../../platform/journal/index.ts'

/** The kinds of backup jobs in the list of long jobs, which tells a restore from its preview. */
export const BACKUP_JOB_KINDS = ['backup', 'restore', 'restore_preview', 'backup_rewrite'] as const

const IS_PREVIEW = sql`coalesce((options ->> 'dry_run')::boolean, false)`

/**
 * True for jobs that can be cancelled: those that are queued, and running ones that change no data. A running restore
 * ends within minutes, completely or not at all.
 */
const CAN_CANCEL = sql`cancelled_by is null and kind <> 'forget'
  and (status = 'queued' or status = 'running' and (kind = 'create' or ${IS_PREVIEW}))`

/** Selects a column of the progress. Null for a completed job, whose last record may be older than its end. */
const untilCompleted = (column: string) =>
  sql`case when status <> 'completed' then ${sql.ref(column)} end as ${sql.ref(column)}`

export const BACKUP_JOBS = sql<LongJobRow>`
  select id::text, case kind when 'create' then 'backup' when 'forget' then 'backup_rewrite'
      else case when ${IS_PREVIEW} then 'restore_preview' else 'restore' end end as kind,
    tenant_id, backup_id::text as subject_id,
    case when status = 'failed' and cancelled_by is not null then 'cancelled' else status end as status,
    ${untilCompleted('phase')}, ${untilCompleted('done')}, ${untilCompleted('total')},
    coalesce(unit, 'records') as unit,
    case when cancelled_by is null then error end as error, result, actor, created_at, started_at,
    progressed_at, counted_since, finished_at, ${CAN_CANCEL} as can_cancel
  from backup_jobs`

/** Ends a queued job, or signals the process of a running one. Returns false if it cannot be cancelled any more. */
export async function cancelBackupJob(tx: TenantTx, id: string, actor: Actor): Promise<boolean> {
  const { rows } = await sql<{ status: string; kind: string; backup_id: string }>`
    update backup_jobs set cancelled_by = ${JSON.stringify(actor)},
      error = case when status = 'queued' then 'The job was cancelled.' end,
      finished_at = case when status = 'queued' then now() end,
      status = case when status = 'queued' then 'failed' else status end
    where id = ${id} and ${CAN_CANCEL}
    returning status, kind, backup_id`.execute(tx.db)
  const cancelled = rows[0]
  if (cancelled?.status === 'failed' && cancelled.kind === 'create')
    await tx.db
      .updateTable('backups')
      .set({ status: 'failed' })
      .where('id', '=', cancelled.backup_id)
      .execute()
  return cancelled !== undefined
}
