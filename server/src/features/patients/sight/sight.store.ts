/** The SQL condition that limits lists, totals and duplicate searches to the patients that the caller can see. */
import { type RawBuilder, sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import { type Seer, seesAll } from './by-department.ts'
import '../patients.table.ts'

export type GrantsOfPatients = ReadonlyMap<number, number>

const NO_GRANTS: GrantsOfPatients = new Map()

/** The set of patients that a caller can see. */
export interface Sight {
  condition: RawBuilder<boolean>
  /** The grants with which the caller sees further patients, one for each of these patients. */
  grants: GrantsOfPatients
  /**
   * A name for the condition, under which counts can be cached. Null if the condition differs between calls. Undefined
   * if the caller sees all patients.
   */
  narrowedTo?: string | null
}

export async function inSight(tx: TenantTx, seer: Seer, now: string): Promise<Sight> {
  if (seesAll(seer)) return { condition: sql<boolean>`true`, grants: NO_GRANTS }
  const own =
    seer.unit_id === null
      ? sql<boolean>`false`
      : sql<boolean>`patients.department_id = ${seer.unit_id}`
  // Looks up grants separately, because few users have any. Otherwise a single index returns the patients in order.
  const grants = await findGrants(tx, seer, now)
  if (grants.size === 0) return { condition: own, grants, narrowedTo: `department ${seer.unit_id}` }
  return {
    condition: sql<boolean>`(${own} or patients.id = any(${[...grants.keys()]}::bigint[]))`,
    grants,
    narrowedTo: null,
  }
}

/** Finds the user's valid grants. Returns only the latest grant for each patient. */
async function findGrants(tx: TenantTx, { user_id }: Seer, now: string): Promise<GrantsOfPatients> {
  const rows = await livingGrants(tx, user_id, now)
    .select(['patient_id', sql<number>`max(id)`.as('id')])
    .groupBy('patient_id')
    .execute()
  return new Map(rows.map(({ patient_id, id }) => [patient_id, id]))
}

/** Finds the user's latest valid grant for a patient. Returns undefined if there is none. */
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
