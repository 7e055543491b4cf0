/** The fields of a patient, with the lists of encrypted fields and clinical fields. */

export interface Identifier {
  /** The organization that issued the identifier, such as an insurer. */
  system: string
  value: string
}

/** The personal and clinical data of a patient. A null field is unknown. */
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

/** The encrypted fields. Each field is encrypted separately. */
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

/** The fields that only clinicians and administrators may see and change. */
export const CLINICAL_FIELDS = ['allergies', 'notes'] as const satisfies readonly SealedField[]

/** The unencrypted columns of a patient's row. */
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

/** Fields that are encrypted even when empty. A deleted value is then detected, because the ciphertext is missing. */
export type MandatoryField = 'full_name' | 'identifiers' | 'allergies'

export type SealedColumns = { [F in MandatoryField as `sealed_${F}`]: Buffer } & {
  [F in Exclude<SealedField, MandatoryField> as `sealed_${F}`]: Buffer | null
}

export interface PatientRow extends PatientPlace, SealedColumns {
  data_key_id: number
}
