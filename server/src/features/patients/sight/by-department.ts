/** The rules that decide which patients a user can see (decisions §8), based on the data in the caller's session. */
import type { Caller } from '../../../platform/access/index.ts'
import { CLINICAL_FIELDS, type PatientPlace, type SealedField } from '../records/fields.ts'

export type Seer = Pick<Caller, 'user_id' | 'role' | 'unit_id' | 'sees_all'>

export const seesAll = ({ role, sees_all }: Seer): boolean => role === 'admin' || sees_all

/**
 * Returns whether the caller can see the patient without a grant. A patient without a department belongs to the
 * department of no user.
 */
export function seesPlace(seer: Seer, { department_id }: Pick<PatientPlace, 'department_id'>) {
  return seesAll(seer) || (department_id !== null && department_id === seer.unit_id)
}

/** Returns the names of the fields that the caller's role may not see. */
export function redactedFor({ role }: Pick<Seer, 'role'>): readonly SealedField[] {
  return role === 'receptionist' || role === 'auditor' ? CLINICAL_FIELDS : []
}
