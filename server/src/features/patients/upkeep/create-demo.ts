/** Inserts patients that no user creates, such as those of the demo. */
import type { KeyRing } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { PatientFields } from '../records/fields.ts'
import { sealFields } from '../records/record.ts'
import { insertPatient, insertTokens, nextPatientIds } from '../records/records.store.ts'
import { tokensOf } from '../search/tokens.ts'

export interface NewDemoPatient extends PatientFields {
  department_id: number | null
  attending_doctor_id: number | null
}

export async function insertPatients(
  tx: TenantTx,
  keyRing: KeyRing,
  tenantId: number,
  patients: readonly NewDemoPatient[],
): Promise<void> {
  const keys = await keyRing.forWriting(tx, tenantId)
  const ids = await nextPatientIds(tx, patients.length)
  const inserted = patients.map(({ department_id, attending_doctor_id, ...fields }, index) => {
    const id = ids[index] as number
    const place = { id, tenant_id: tenantId, department_id, attending_doctor_id }
    return insertPatient(tx, { ...place, ...sealFields(keys, id, fields) })
  })
  await Promise.all(inserted)
  const tokens = patients.flatMap((fields, index) => tokensOf(keys, ids[index] as number, fields))
  insertTokens(tx, tenantId, tokens)
}
