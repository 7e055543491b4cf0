import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import type { JobUnit, LongJobRow } from '../feature/job-source.ts'
import type { Actor } from '../journal/index.ts'
import './tracked-job.table.ts'

export interface TrackedOrder {
  kind: string
  tenant_id: number | null
  /** The id of the record that the job reads or changes; null without one. */
  subject_id: string | null
  actor: Actor
}

/** The progress of a tracked job. A null `total` stands for an unknown amount of work. */
export interface TrackedProgress {
  phase: string | null
  done: number
  total: number | null
}

/** Inserts a running job and returns its id. */
export async function insertTrackedJob(
  tx: TenantTx,
  { actor, tenant_id, ...order }: TrackedOrder,
): Promise<string> {
  // A superadmin can export the entries of a tenant that was purged. Such a job is listed without a tenant.
  const existing = sql<number | null>`(select id from tenants where id = ${tenant_id})`
  const { id } = await tx.db
    .insertInto('jobs')
    .values({ ...order, tenant_id: existing, actor: JSON.stringify(actor) })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Returns the id of the job of a kind that is running on any node, in a process that is alive. */
export async function findRunningTrackedJob(
  tx: TenantTx,
  kind: string,
): Promise<string | undefined> {
  const found = await tx.db
    .selectFrom('jobs')
    .select('id')
    .where('kind', '=', kind)
    .where('status', '=', 'running')
    .where(sql<boolean>`not (${HAS_DIED})`)
    .executeTakeFirst()
  return found?.id
}

/** Records the progress of a running job. Returns false if the job is not running, because it was cancelled. */
export async function saveTrackedProgress(
  tx: TenantTx,
  id: string,
  progress: TrackedProgress,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('jobs')
    .set({ ...progress, seen_at: sql`now()` })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends a running job. Returns false if the job was not running. */
export async function endTrackedJob(
  tx: TenantTx,
  id: string,
  end: { status: 'completed' | 'failed' | 'cancelled'; error?: string; done?: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('jobs')
    .set({ ...end, finished_at: sql`now()` })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** True for a running job whose process has not reported for half a minute, and so has died. */
const HAS_DIED = sql<boolean>`status = 'running' and seen_at < now() - interval '30 seconds'`

const DIED = 'The process ended before the job was completed. Start the job again.'

/** Marks the jobs as failed whose process has died, and deletes jobs that ended before a time (ISO 8601). */
export async function tidyTrackedJobs(tx: TenantTx, endedBefore: string): Promise<void> {
  await tx.db
    .updateTable('jobs')
    .set({ status: 'failed', error: DIED, finished_at: sql`now()` })
    .where(HAS_DIED)
    .execute()
  await tx.db.deleteFrom('jobs').where('finished_at', '<', endedBefore).execute()
}

/** Returns the select statement of a source (`JobSource`). Reports dead processes before the upkeep records them. */
export const selectTrackedJobs = (
  kinds: readonly string[],
  unit: JobUnit,
): RawBuilder<LongJobRow> => sql<LongJobRow>`
  select id::text, kind, tenant_id, subject_id,
    case when ${HAS_DIED} then 'failed' else status end as status,
    phase, done, total, ${sql.lit(unit)}::text as unit,
    case when ${HAS_DIED} then ${sql.lit(DIED)} else error end as error,
    null::jsonb as result, actor, created_at, created_at as started_at, seen_at as progressed_at,
    created_at as counted_since,    finished_at, status = 'running' and not (${HAS_DIED}) as can_cancel
  from jobs where kind in (${sql.join(kinds.map((kind) => sql.lit(kind)))})`
