/** Judges whether a caller sees a patient who is loaded, as often as it is asked. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Caller } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { PatientPlace } from '../records/fields.ts'
import { seesPlace } from './seer.ts'
import { findGrant } from './sight.store.ts'

/** What of a patient says who sees them. */
type Seen = Pick<PatientPlace, 'id' | 'department_id'>

/** That a caller sees a patient; by which grant, where it takes one. */
export interface Sight {
  grant_id: number | null
}

export interface Sights {
  /** Undefined for a patient whom the caller does not see. A value, and no promise, without a grant. */
  of(caller: Caller, patient: Seen): Sight | Promise<Sight | undefined>
  /** The same within a transaction of the caller's tenant. */
  within(tx: TenantTx, caller: Caller, patient: Seen): Promise<Sight | undefined>
}

const BY_PLACE: Sight = { grant_id: null }

export function openSights(db: Scopes, clock: Clock): Sights {
  async function byGrant(tx: TenantTx, caller: Caller, { id }: Seen) {
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
