/** A patient as stored in the cache: the JSON for responses, and the few fields that decide who can see the patient. */
import { JsonText } from '../../../lib/json-bytes.ts'
import type { Caller } from '../../../platform/access/index.ts'
import type { Patient } from '../patients.schema.ts'
import { CLINICAL_FIELDS, type PatientPlace } from '../records/fields.ts'
import type { PatientRecord } from '../records/record.ts'
import { redactedFor } from '../sight/by-department.ts'

export interface CachedRecord
  extends Pick<PatientPlace, 'id' | 'department_id' | 'attending_doctor_id'> {
  /** The JSON of the record without its clinical fields. */
  readonly open: string
  /** The JSON of the clinical fields. */
  readonly clinical: string
}

export function cachedRecordOf(record: PatientRecord): CachedRecord {
  const { allergies, notes, ...open } = record
  const { id, department_id, attending_doctor_id } = record
  return {
    id,
    department_id,
    attending_doctor_id,
    open: JSON.stringify(open),
    clinical: JSON.stringify({ allergies, notes }),
  }
}

const REDACTED = JSON.stringify({ redacted: CLINICAL_FIELDS })

/** Returns the JSON of the fields that the caller may see. It is the same as the JSON of `shownTo(caller, record)`. */
export function textFor(caller: Caller, { open, clinical }: CachedRecord): JsonText<Patient> {
  const rest = redactedFor(caller).length > 0 ? REDACTED : clinical
  return new JsonText(`${open.slice(0, -1)},${rest.slice(1)}`)
}

/**
 * The memory of a cached patient in addition to its text, in bytes on a 64-bit system. The cache entry and the patient
 * object take about 200 bytes, the two string headers 40, and the entries in the tables of ids, departments and doctors
 * 160.
 */
const BESIDE_TEXT = 400

/** Estimates the memory of a cached patient in bytes. Latin-1 text takes one byte per character, other text two. */
export function sizeOfPatient({ open, clinical }: CachedRecord): number {
  return BESIDE_TEXT + bytesOfText(open) + bytesOfText(clinical)
}

const bytesOfText = (text: string): number =>
  /^[\0-\xff]*$/.test(text) ? text.length : 2 * text.length
