/** SQL queries for cache faults: cached patients that differ from their database rows. */
import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import '../patients.table.ts'

export interface CacheFault {
  tenant_id: number
  patient_id: number
  /** The names of the fields that differ. Never contains their values. */
  differs: string[]
  held_version: number
  /** The version of the patient in the database; null if the patient does not exist. */
  version: number | null
}

/** Replaces the faults that this node has recorded. */
export async function noteFaults(
  tx: TenantTx,
  node: string,
  entries: number,
  faults: readonly CacheFault[],
): Promise<void> {
  const ids = faults.map(({ patient_id }) => patient_id)
  await sql`delete from patient_cache_faults
    where node = ${node} and patient_id <> all(${ids}::bigint[])
      or seen_at < now() - interval '1 day'`.execute(tx.db)
  for (const fault of faults)
    await tx.db
      .insertInto('patient_cache_faults')
      .values({ ...fault, node, entries })
      .onConflict((one) =>
        one.columns(['node', 'patient_id']).doUpdateSet({ ...fault, entries, seen_at: sql`now()` }),
      )
      .execute()
}

export interface FoundFault extends CacheFault {
  nodes: number
  since: string
}

/** Lists up to `limit` faults that nodes recorded in the last two minutes. */
export async function listFaults(tx: TenantTx, limit: number): Promise<FoundFault[]> {
  const { rows } = await sql<FoundFault>`
    select tenant_id, patient_id, count(*) as nodes, min(since) as since,
      min(held_version) as held_version, min(version) as version,
      array(select distinct unnest(f.differs) from patient_cache_faults f
        where f.tenant_id = p.tenant_id and f.patient_id = p.patient_id order by 1) as differs
    from patient_cache_faults p
    where seen_at > now() - interval '2 minutes' and ${ofScope(tx, 'p.tenant_id')}
    group by tenant_id, patient_id order by patient_id limit ${limit}`.execute(tx.db)
  return rows
}

/** Counts the cached patients of all nodes that recorded a fault in the last two minutes. */
export async function countCached(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ cached: number }>`
    select coalesce(sum(entries), 0)::bigint as cached from (
      select max(entries) as entries from patient_cache_faults
      where seen_at > now() - interval '2 minutes' group by node) nodes`.execute(tx.db)
  return rows[0]?.cached ?? 0
}

/** Deletes the recorded faults of a patient. Returns whether there were any faults. */
export async function forgetFaults(tx: TenantTx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx.db
    .deleteFrom('patient_cache_faults')
    .where('patient_id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .executeTakeFirst()
  return numDeletedRows > 0n
}
