/** Which patients a caller sees, as SQL: the one condition of every list, total and duplicate. */
import { type RawBuilder, sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import { type Seer, seesAll } from './seer.ts'
import '../patients.table.ts'

/** Ids of grants by those of their patients. */
export type GrantsOfPatients = ReadonlyMap<number, number>

const NO_GRANTS: GrantsOfPatients = new Map()

/** Which patients a caller sees. */
export interface Sight {
  /** The condition on rows of `patients`. */
  condition: RawBuilder<boolean>
  /** The grants that widen it: of each patient the one they are seen by. */
  grants: GrantsOfPatients
  /** Names it where it is the same from call to call, else null; left out where all are seen. */
  narrowedTo?: string | null
}

/** @param now ISO 8601 */
export async function inSight(tx: TenantTx, seer: Seer, now: string): Promise<Sight> {
  if (seesAll(seer)) return { condition: sql<boolean>`true`, grants: NO_GRANTS }
  const own =
    seer.unit_id === null
      ? sql<boolean>`false`
      : sql<boolean>`patients.department_id = ${seer.unit_id}`
  // Asked for first: nearly nobody has any, and then one index has the rows in their order.
  const grants = await findGrants(tx, seer, now)
  if (grants.size === 0) return { condition: own, grants, narrowedTo: `department ${seer.unit_id}` }
  return {
    condition: sql<boolean>`(${own} or patients.id = any(${[...grants.keys()]}::bigint[]))`,
    grants,
    narrowedTo: null,
  }
}

/** The grants by which a user sees patients now; of several of one patient the latest. */
async function findGrants(tx: TenantTx, { user_id }: Seer, now: string): Promise<GrantsOfPatients> {
  const rows = await livingGrants(tx, user_id, now)
    .select(['patient_id', sql<number>`max(id)`.as('id')])
    .groupBy('patient_id')
    .execute()
  return new Map(rows.map(({ patient_id, id }) => [patient_id, id]))
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
