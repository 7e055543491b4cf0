/** Which patients a caller sees, as SQL: the one condition of every list, total and duplicate. */
import { type RawBuilder, sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import { type Seer, seesAll } from './seer.ts'
import '../patients.table.ts'

/** The condition on rows of `patients` that the caller sees. @param now ISO 8601 */
export async function inSight(tx: TenantTx, seer: Seer, now: string): Promise<RawBuilder<boolean>> {
  if (seesAll(seer)) return sql<boolean>`true`
  const own =
    seer.unit_id === null
      ? sql<boolean>`false`
      : sql<boolean>`patients.department_id = ${seer.unit_id}`
  // Asked for first: nearly nobody has any, and then one index has the rows in their order.
  const granted = await listGranted(tx, seer, now)
  return granted.length === 0
    ? own
    : sql<boolean>`(${own} or patients.id = any(${granted}::bigint[]))`
}

async function listGranted(tx: TenantTx, { user_id }: Seer, now: string): Promise<number[]> {
  const rows = await livingGrants(tx, user_id, now).select('patient_id').distinct().execute()
  return rows.map(({ patient_id }) => patient_id)
}

/** The grant by which a user sees a patient now; of several the latest. */
export async function findGrant(
  tx: TenantTx,
  { user_id }: Seer,
  patientId: number,
  now: string,
): Promise<number | undefined> {
  const row = await livingGrants(tx, user_id, now)
    .select('id')
    .where('patient_id', '=', patientId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

function livingGrants(tx: TenantTx, userId: number, now: string) {
  return tx.db
    .selectFrom('patient_grants')
    .where(ofScope(tx, 'tenant_id'))
    .where('user_id', '=', userId)
    .where('granted_at', '>', sql<string>`${now}::timestamptz - interval '1 day'`)
    .where('expires_at', '>', now)
    .where('ended_at', 'is', null)
}
