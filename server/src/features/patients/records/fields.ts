/** The fields of a patient, and which of them stand sealed in the row. */

export interface Identifier {
  /** Who gives such identifiers out, such as an insurer. */
  system: string
  value: string
}

/** Who a patient is; null where nobody knows. */
export interface PatientFields {
  full_name: string
  birth_date: string | null
  sex: Sex | null
  identifiers: Identifier[]
  phone: string | null
  email: string | null
  address: string | null
  allergies: string[]
  notes: string | null
}

export const SEXES = ['male', 'female', 'other', 'unknown'] as const
export type Sex = (typeof SEXES)[number]

export type SealedField = keyof PatientFields
export type SealedColumn = `sealed_${SealedField}`

/** Each of them sealed for itself. */
export const SEALED_FIELDS = [
  'full_name',
  'birth_date',
  'sex',
  'identifiers',
  'phone',
  'email',
  'address',
  'allergies',
  'notes',
] as const satisfies readonly SealedField[]

export const columnOf = <F extends SealedField>(field: F) => `sealed_${field}` as const

export const SEALED_COLUMNS: readonly SealedColumn[] = SEALED_FIELDS.map(columnOf)

/** What only those may see and write who treat patients, or administer. */
export const CLINICAL_FIELDS = ['allergies', 'notes'] as const satisfies readonly SealedField[]

/** What of a patient is in clear. */
export interface PatientPlace {
  id: number
  tenant_id: number
  department_id: number | null
  attending_doctor_id: number | null
  version: number
  created_at: string
  updated_at: string
  deleted_at: string | null
}

/** What is always sealed: a name and lists, so that nobody can take them away unnoticed. */
export type MandatoryField = 'full_name' | 'identifiers' | 'allergies'

export type SealedColumns = { [F in MandatoryField as `sealed_${F}`]: Buffer } & {
  [F in Exclude<SealedField, MandatoryField> as `sealed_${F}`]: Buffer | null
}

/** A patient as the table holds it. */
export interface PatientRow extends PatientPlace, SealedColumns {
  data_key_id: number
}
