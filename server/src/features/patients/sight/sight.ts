/** Decides on every request whether the caller can see a loaded patient. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Caller } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { PatientPlace } from '../records/fields.ts'
import { seesPlace } from './by-department.ts'
import { findGrant } from './sight.store.ts'

/** The fields of a patient that decide who can see them. */
type PatientKey = Pick<PatientPlace, 'id' | 'department_id'>

/** Proof that a caller can see a patient. Contains the grant, or null if no grant was needed. */
export interface PatientSight {
  grant_id: number | null
}

export interface Sights {
  /**
   * Decides whether the caller can see the patient. Undefined means no. Returns a promise only if a grant has to be
   * looked up.
   */
  of(caller: Caller, patient: PatientKey): PatientSight | Promise<PatientSight | undefined>
  /** Decides like `of`, within an existing transaction of the caller's tenant. */
  within(tx: TenantTx, caller: Caller, patient: PatientKey): Promise<PatientSight | undefined>
}

const BY_PLACE: PatientSight = { grant_id: null }

export function openSights(db: Scopes, clock: Clock): Sights {
  async function byGrant(tx: TenantTx, caller: Caller, { id }: PatientKey) {
    const grant_id = await findGrant(tx, caller, id, isoAt(clock))
    return grant_id === undefined ? undefined : { grant_id }
  }

  return {
    of(caller, patient) {
      if (seesPlace(caller, patient)) return BY_PLACE
      return db.inTenant(caller.tenant_id, (tx) => byGrant(tx, caller, patient), 'read')
    },
    within: async (tx, caller, patient) =>
      seesPlace(caller, patient) ? BY_PLACE : byGrant(tx, caller, patient),
  }
}
