/** Journals who was shown which patients: an answer leaves once its entry is durable. */
import type { Caller } from '../../../platform/access/index.ts'
import type { ReadEntry, ReadJournal } from '../../../platform/journal/index.ts'
import type { GrantsOfPatients } from '../sight/sight.store.ts'

/** What it took to see the patients beside the place of the caller. */
interface Under {
  /** Of a single patient; null where it took none. */
  grant_id?: number | null
  /** Of those in a list for whom it took one. */
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
