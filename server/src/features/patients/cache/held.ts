/**
 * A patient as the cache holds them: the record as JSON, which is what is answered, with the few facts
 * that say who sees it.
 */
import { JsonText } from '../../../lib/json-text.ts'
import type { Caller } from '../../../platform/access/index.ts'
import type { Patient } from '../patients.schema.ts'
import { CLINICAL_FIELDS, type PatientPlace } from '../records/fields.ts'
import type { PatientRecord } from '../records/record.ts'
import { redactedFor } from '../sight/seer.ts'

export interface HeldPatient
  extends Pick<PatientPlace, 'id' | 'department_id' | 'attending_doctor_id'> {
  /** The record without its clinical fields. */
  readonly open: string
  /** Its clinical fields. */
  readonly clinical: string
}

export function heldOf(record: PatientRecord): HeldPatient {
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

/** What the caller is shown of it, as `shownTo` of the record. */
export function textFor(caller: Caller, { open, clinical }: HeldPatient): JsonText<Patient> {
  const rest = redactedFor(caller).length > 0 ? REDACTED : clinical
  return new JsonText(`${open.slice(0, -1)},${rest.slice(1)}`)
}

/**
 * What else a patient takes in memory, on 64 bits: the objects of the cache and of the patient (some 200
 * bytes), the heads of two texts (40), the places in the tables of ids, of departments and of doctors (160).
 */
const BESIDE_TEXT = 400

/** The bytes that it takes to hold: text that Latin-1 can write has one a letter, other text two. */
export function bytesOf({ open, clinical }: HeldPatient): number {
  return BESIDE_TEXT + bytesOfText(open) + bytesOfText(clinical)
}

const bytesOfText = (text: string): number =>
  /^[\0-\xff]*$/.test(text) ? text.length : 2 * text.length
