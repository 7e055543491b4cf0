/** The SQL of what nodes hold otherwise than the database has it. */
import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import '../patients.table.ts'

export interface CacheFault {
  tenant_id: number
  patient_id: number
  /** What differs, by name. */
  differs: string[]
  held_version: number
  /** Null where there is no such patient. */
  version: number | null
}

/** Writes down what the node holds wrongly, in place of what it has said before. */
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

/** What nodes that live have said of patients, up to `limit`. */
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

/** How many patients are held by the nodes that have said anything. */
export async function countHeld(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ held: number }>`
    select coalesce(sum(entries), 0)::bigint as held from (
      select max(entries) as entries from patient_cache_faults
      where seen_at > now() - interval '2 minutes' group by node) nodes`.execute(tx.db)
  return rows[0]?.held ?? 0
}

/** Forgets what was said of a patient. Returns whether there was anything. */
export async function forgetFaults(tx: TenantTx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx.db
    .deleteFrom('patient_cache_faults')
    .where('patient_id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .executeTakeFirst()
  return numDeletedRows > 0n
}
