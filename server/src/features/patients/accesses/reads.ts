/** Records in the journal which patients a caller has seen. The response waits until the entry is durable. */
import type { Caller } from '../../../platform/access/index.ts'
import type { ReadEntry, ReadJournal } from '../../../platform/journal/index.ts'
import type { GrantsOfPatients } from '../sight/sight.store.ts'

/** The break-glass grants that allowed a caller to see patients outside their department. */
interface Under {
  /** The grant for a read of one patient. Null if the caller needed no grant. */
  grant_id?: number | null
  /** The grants for a read of a list: one for each patient whom the caller could not see without a grant. */
  grants?: GrantsOfPatients
}

export type NoteRead = (
  caller: Caller,
  action: ReadEntry['action'],
  patientIds: readonly number[],
  under?: Under,
) => Promise<void>

export function notesReads(journal: Pick<ReadJournal, 'record'>): NoteRead {
  return (caller, action, resource_ids, { grant_id = null, grants } = {}) =>
    journal.record({
      caller,
      action,
      tenant_id: caller.tenant_id,
      resource_type: 'patient',
      resource_ids,
      grant_id,
      ...(grants?.size ? { changes: { grants: Object.fromEntries(grants) } } : {}),
    })
}
