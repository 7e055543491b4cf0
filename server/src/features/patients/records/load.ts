/** Loads a patient's row and opens it: the one way to a record outside a transaction of its own. */
import type { KeyRing } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { openRecord, type PatientRecord, type UnreadableRecord } from './record.ts'
import { findPatient } from './records.store.ts'

/** Undefined where the tenant has no such patient, or has deleted them. Who sees them is asked elsewhere. */
export type LoadPatient = (
  tenantId: number,
  id: number,
) => Promise<PatientRecord | UnreadableRecord | undefined>

export function loaderOf(db: Scopes, keyRing: KeyRing): LoadPatient {
  const find = (id: number) => async (tx: TenantTx) => {
    const [keys, row] = await Promise.all([
      keyRing.ofTenant(tx, tx.tenantId as number),
      findPatient(tx, id),
    ])
    return row && openRecord(keys, row)
  }
  return (tenantId, id) => db.inTenant(tenantId, find(id), 'read')
}
