/** Encrypts and decrypts the fields of a patient's record. */
import {
  type OpenedRow,
  type SealedPlace,
  type TenantKeys,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import {
  columnOf,
  type PatientFields,
  type PatientPlace,
  type PatientRow,
  SEALED_FIELDS,
  type SealedColumns,
  type SealedField,
} from './fields.ts'

/** A patient with all fields decrypted. */
export type PatientRecord = PatientPlace & PatientFields

/** A patient whose record cannot be fully decrypted, with the names of the unreadable fields. */
export interface UnreadableRecord extends PatientPlace {
  unreadable: readonly SealedField[]
}

export const isReadable = <Readable extends object>(
  record: Readable | UnreadableRecord,
): record is Readable => !('unreadable' in record)

/** The fields that are encrypted as JSON. All other fields are encrypted as plain text. */
const LISTS: readonly SealedField[] = ['identifiers', 'allergies']

/** Decrypts a row. Also returns the names of fields whose ciphertext was altered, truncated or moved to another row. */
export function openRecord(keys: TenantKeys, row: PatientRow): PatientRecord | UnreadableRecord {
  const fields: Partial<Record<SealedField, unknown>> = {}
  const unreadable: SealedField[] = []
  for (const field of SEALED_FIELDS) {
    const sealed = row[columnOf(field)]
    try {
      fields[field] = sealed && contentOf(field, keys.open(sealed, placeOf(row.id, field)))
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      unreadable.push(field)
    }
  }
  const place = clearOf(row)
  return unreadable.length > 0
    ? { ...place, unreadable }
    : { ...place, ...(fields as PatientFields) }
}

/** Returns the fields of a patient from the decrypted columns of a row. */
export function fieldsOf({ values }: OpenedRow): PatientFields {
  const entries = SEALED_FIELDS.map((field) => {
    const opened = values[columnOf(field)]
    return [field, opened ? contentOf(field, opened) : null]
  })
  return Object.fromEntries(entries)
}

/** Encrypts the given fields of a patient. Returns the values of their columns. */
export function sealFields<F extends Partial<PatientFields>>(
  keys: TenantKeys,
  id: number,
  fields: F,
): Pick<SealedColumns, `sealed_${Extract<keyof F, SealedField>}`> {
  const entries = Object.entries(fields) as [SealedField, unknown][]
  return Object.fromEntries(
    entries.map(([field, value]) => {
      const text = LISTS.includes(field) ? JSON.stringify(value) : (value as string | null)
      return [columnOf(field), text === null ? null : keys.seal(text, placeOf(id, field))]
    }),
  ) as never
}

function contentOf(field: SealedField, opened: Buffer): unknown {
  const text = opened.toString()
  return LISTS.includes(field) ? JSON.parse(text) : text
}

const placeOf = (row: number, field: SealedField): SealedPlace => ({
  table: 'patients',
  column: columnOf(field),
  row,
})

function clearOf(row: PatientRow): PatientPlace {
  const { id, tenant_id, department_id, attending_doctor_id } = row
  const { version, created_at, updated_at, deleted_at } = row
  return {
    id,
    tenant_id,
    department_id,
    attending_doctor_id,
    version,
    created_at,
    updated_at,
    deleted_at,
  }
}
