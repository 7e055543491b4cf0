/** Checks that a patient's department and attending doctor belong to the tenant, and that the doctor is active. */
import { InvalidInput, type Refuse } from '../../../lib/problems.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { departmentIssue, isActiveDoctor } from '../../users/index.ts'

export interface ChosenPlace {
  department_id?: number | null
  attending_doctor_id?: number | null
}

/** Calls `refuse` for an unknown department or attending doctor. Locks the doctor until the transaction ends. */
export async function checkPlace(
  tx: TenantTx,
  tenantId: number,
  { department_id, attending_doctor_id: doctor }: ChosenPlace,
  refuse: Refuse,
): Promise<void> {
  refuse(['body', 'department_id'], await departmentIssue(tx, tenantId, department_id))
  if (doctor && !(await isActiveDoctor(tx, tenantId, doctor)))
    refuse(['body', 'attending_doctor_id'], 'must be an active doctor of the tenant')
}

/** Checks a patient's department and doctor. @throws InvalidInput if the tenant does not have them */
export async function requirePlace(
  tx: TenantTx,
  tenantId: number,
  place: ChosenPlace,
): Promise<void> {
  const issues: { loc: string[]; msg: string; type: string }[] = []
  await checkPlace(tx, tenantId, place, (loc, why) => {
    if (why) issues.push({ loc: [...loc], msg: `Value error, ${why}`, type: 'value_error' })
  })
  if (issues.length > 0) throw new InvalidInput(issues)
}
