/** Journals who was shown which patients: an answer leaves once its entry is durable. */
import type { Caller } from '../../../platform/access/index.ts'
import type { ReadEntry, ReadJournal } from '../../../platform/journal/index.ts'

/** The grant is the one that it took to see the patient; null where it took none. */
export type NoteRead = (
  caller: Caller,
  action: ReadEntry['action'],
  patientIds: readonly number[],
  grant?: { grant_id: number | null },
) => Promise<void>

export function notesReads(journal: Pick<ReadJournal, 'record'>): NoteRead {
  return (caller, action, resource_ids, grant) =>
    journal.record({
      caller,
      action,
      tenant_id: caller.tenant_id,
      resource_type: 'patient',
      resource_ids,
      ...grant,
    })
}
