import type { Caller } from '../../../platform/access/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Action, actorOf, append, journalEntry } from '../../../platform/journal/index.ts'

/** The details of a journal entry about a patient. They contain names of fields and ids, never values. */
interface Said {
  fields?: readonly string[]
  grant_id?: number | null
  purpose?: string
}

/** Writes the journal entry of a patient's change in the same transaction, and drops the patient from all caches. */
export async function appendPatientChange(
  tx: TenantTx,
  caller: Caller,
  action: Extract<Action, `patient.${string}`>,
  patient: { id: number; tenant_id: number },
  { grant_id, ...said }: Said = {},
): Promise<void> {
  tx.invalidate(`patient:${patient.id}`)
  const changes = { ...said, ...(grant_id ? { grant_id } : {}) }
  await append(tx, actorOf(caller), {
    ...journalEntry(action, 'patient', patient),
    ...(Object.keys(changes).length > 0 ? { changes } : {}),
  })
}
