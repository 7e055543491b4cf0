import type { Caller } from '../../../platform/access/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Action, actorOf, append, journalEntry } from '../../../platform/journal/index.ts'

/** What an entry of a patient says beside who and when: names and numbers, never a value. */
interface Said {
  fields?: readonly string[]
  grant_id?: number | null
  purpose?: string
}

/** Journals what became of a patient on the transaction of the change, which every cache hears of. */
export async function appendChange(
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
