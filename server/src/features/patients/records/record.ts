/** A patient's record: sealed field by field, and opened. */
import {
  type OpenedRow,
  type Place,
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

/** A patient whose fields are all open. */
export type PatientRecord = PatientPlace & PatientFields

/** A patient of whom some fields do not open, which are named. */
export interface UnreadableRecord extends PatientPlace {
  unreadable: readonly SealedField[]
}

export const isReadable = <Readable extends object>(
  record: Readable | UnreadableRecord,
): record is Readable => !('unreadable' in record)

/** Sealed as JSON; the other fields as they are. */
const LISTS: readonly SealedField[] = ['identifiers', 'allergies']

/** Opens what is sealed of the row. What was changed, cut or moved does not open. */
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

/** The fields of a row whose columns others have opened. */
export function fieldsOf({ values }: OpenedRow): PatientFields {
  const entries = SEALED_FIELDS.map((field) => {
    const opened = values[columnOf(field)]
    return [field, opened ? contentOf(field, opened) : null]
  })
  return Object.fromEntries(entries)
}

/** Seals the given fields of the patient for their columns. */
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

const placeOf = (row: number, field: SealedField): Place => ({
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
