/** Selects the fields of a record that a caller may see. */
import type { Caller } from '../../../platform/access/index.ts'
import type { ListedPatient, Patient } from '../patients.schema.ts'
import { redactedFor } from '../sight/by-department.ts'
import type { SealedField } from './fields.ts'
import { isReadable, type PatientRecord, type UnreadableRecord } from './record.ts'

/** A record that cannot be decrypted. The response is 500. The log contains the patient's id and the field names. */
export class UnreadablePatient extends Error {
  constructor(id: number, fields: readonly SealedField[]) {
    super(faultOf(id, fields))
    this.name = 'UnreadablePatient'
  }
}

export const faultOf = (id: number, fields: readonly SealedField[]): string =>
  `patient ${id}: encrypted fields cannot be decrypted (${fields.join(', ')})`

/** Returns the record if all its fields were decrypted. @throws UnreadablePatient if a field could not be decrypted */
export function readable<Readable extends object>(record: Readable | UnreadableRecord): Readable {
  if (isReadable(record)) return record
  throw new UnreadablePatient(record.id, record.unreadable)
}

/** Returns the record without the fields that the caller's role may not see. Adds the names of these fields. */
export function shownTo(caller: Caller, record: PatientRecord): Patient {
  const redacted = redactedFor(caller)
  if (redacted.length === 0) return record
  const shown: Partial<Patient> = { ...record, redacted: [...redacted] }
  for (const field of redacted) delete shown[field as 'notes' | 'allergies']
  return shown as Patient
}

export function listedFor(caller: Caller, record: PatientRecord | UnreadableRecord): ListedPatient {
  if (isReadable(record)) return shownTo(caller, record)
  const { unreadable: _, ...place } = record
  return { ...place, unreadable: true }
}
