/** The SQL of what becomes of patients in the end. */
import { sql } from 'kysely'
import { countRows, purgerOf, type TenantTx } from '../../../platform/db/index.ts'
import { patientsOf } from '../records/records.store.ts'

/** Exact up to where totals of lists are; beyond, the planner's estimate. */
export async function countPatients(tx: TenantTx): Promise<number> {
  return (await countRows(tx, patientsOf(tx).select('id'))).total
}

/** Has the days in which a deletion can be taken back begin anew. */
export async function beginGraceAnew(tx: TenantTx): Promise<void> {
  await tx.db
    .updateTable('patients')
    .set({ deleted_at: sql`now()` })
    .where('deleted_at', 'is not', null)
    .execute()
}

/** Destroys up to `limit` patients who were deleted before, and records that. Returns them. */
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

/** Destroys patients of a deleted tenant, and what they are found by. */
export const purgePatients = purgerOf('patients')
