/** Who sees which patients (decisions §8): the facts about the caller are those of their session. */
import type { Caller } from '../../../platform/access/index.ts'
import { CLINICAL_FIELDS, type PatientPlace, type SealedField } from '../records/fields.ts'

export type Seer = Pick<Caller, 'user_id' | 'role' | 'unit_id' | 'sees_all'>

export const seesAll = ({ role, sees_all }: Seer): boolean => role === 'admin' || sees_all

/** Whether the caller sees the patient for where both are: null is nobody's department. */
export function seesPlace(seer: Seer, { department_id }: Pick<PatientPlace, 'department_id'>) {
  return seesAll(seer) || (department_id !== null && department_id === seer.unit_id)
}

/** The fields that are kept from the caller. */
export function redactedFor({ role }: Pick<Seer, 'role'>): readonly SealedField[] {
  return role === 'receptionist' || role === 'auditor' ? CLINICAL_FIELDS : []
}
