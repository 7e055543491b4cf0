/** What a caller is shown of a record. */
import type { Caller } from '../../../platform/access/index.ts'
import type { ListedPatient, Patient } from '../patients.schema.ts'
import { redactedFor } from '../sight/seer.ts'
import type { SealedField } from './fields.ts'
import { isReadable, type PatientRecord, type UnreadableRecord } from './record.ts'

/** A record that does not open is a fault of the service: 500, and the log says which field of whose. */
export class UnreadablePatient extends Error {
  constructor(id: number, fields: readonly SealedField[]) {
    super(faultOf(id, fields))
    this.name = 'UnreadablePatient'
  }
}

export const faultOf = (id: number, fields: readonly SealedField[]): string =>
  `patient ${id}: what is sealed does not open (${fields.join(', ')})`

/** @throws UnreadablePatient */
export function readable<Readable extends object>(record: Readable | UnreadableRecord): Readable {
  if (isReadable(record)) return record
  throw new UnreadablePatient(record.id, record.unreadable)
}

/** The record without the fields that the caller's role does not see, which it names. */
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
