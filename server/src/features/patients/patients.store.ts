/** The patients' SQL. */
import { ofScope, purgerOf, type TenantTx } from '../../platform/db/index.ts'
import './patients.table.ts'

export interface NewPatient {
  tenant_id: number
  department_id: number | null
  attending_doctor_id: number | null
}

export async function insertPatients(tx: TenantTx, patients: NewPatient[]): Promise<void> {
  await tx.db.insertInto('patients').values(patients).execute()
}

export async function countPatients(tx: TenantTx): Promise<number> {
  const { count } = await tx.db
    .selectFrom('patients')
    .where(ofScope(tx, 'tenant_id'))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Destroys patients of a deleted tenant. */
export const purgePatients = purgerOf('patients')
