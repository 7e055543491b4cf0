import { sql } from 'kysely'
import { countRows, purgerOf, type TenantTx } from '../../../platform/db/index.ts'
import { patientsOf } from '../records/records.store.ts'

/** Counts patients. Returns an exact number up to the limit for exact totals, and the planner's estimate above that. */
export async function estimatePatients(
  tx: TenantTx,
): Promise<{ total: number; is_estimate: boolean }> {
  const { total, estimated } = await countRows(tx, patientsOf(tx).select('id'))
  return { total, is_estimate: estimated }
}

export const countPatients = async (tx: TenantTx) => (await estimatePatients(tx)).total

/** Restarts the grace period of all deleted patients, so that each deletion can be undone for the full period. */
export async function restartPatientGracePeriod(tx: TenantTx): Promise<void> {
  await tx.db
    .updateTable('patients')
    .set({ deleted_at: sql`now()` })
    .where('deleted_at', 'is not', null)
    .execute()
}

/** Purges up to `limit` patients deleted before `before`, records their ids, and returns the purged patients. */
export async function destroyDeleted(
  tx: TenantTx,
  before: string,
  limit: number,
): Promise<{ id: number; tenant_id: number }[]> {
  const { rows } = await sql<{ id: number; tenant_id: number }>`
    with gone as (
      delete from patients where id in (
        select id from patients where deleted_at < ${before}::timestamptz
        order by deleted_at limit ${limit} for update skip locked)
      returning id, tenant_id)
    insert into purged_patients (id, tenant_id) select id, tenant_id from gone
    returning id, tenant_id`.execute(tx.db)
  return rows
}

/** Purges the patients of a deleted tenant, together with their search tokens. */
export const purgePatients = purgerOf('patients')
