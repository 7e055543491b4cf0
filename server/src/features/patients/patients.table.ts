/** The tables of patients. */
import type { Generated, GeneratedAlways } from 'kysely'
import type { RestoreColumns } from '../../platform/restore-columns.ts'
import type { PurgedRecords, RestoreRules } from '../../platform/restore-rule.ts'
import type { SealedColumns } from './records/fields.ts'

export interface PatientsTable extends SealedColumns {
  id: Generated<number>
  tenant_id: number
  department_id: number | null
  attending_doctor_id: number | null
  version: Generated<number>
  /** Of all that is sealed in the row; made by the database. */
  data_key_id: GeneratedAlways<number>
  created_at: Generated<string>
  updated_at: Generated<string>
  deleted_at: string | null
  /** The fold that its search tokens were made with. */
  fold_version: Generated<number>
}

/** What a patient is found by, under each living data key. */
export interface PatientTokensTable {
  tenant_id: number
  patient_id: number
  kind: number
  token: Buffer
  data_key_id: number
  is_living: Generated<boolean>
}

/** Who may see a patient beyond their own department, and why. */
export interface PatientGrantsTable {
  id: Generated<number>
  tenant_id: number
  patient_id: number
  user_id: number
  purpose: string
  sealed_reason: Buffer
  data_key_id: GeneratedAlways<number>
  granted_at: string
  expires_at: string
  ended_at: string | null
}

/** What nodes hold otherwise than the database has it. */
export interface PatientCacheFaultsTable {
  node: string
  tenant_id: number
  patient_id: number
  differs: string[]
  held_version: number
  version: number | null
  entries: number
  since: Generated<string>
  seen_at: Generated<string>
}

/** Patients who were destroyed, and come back from no backup. */
export interface PurgedPatientsTable {
  id: number
  tenant_id: number
  purged_at: Generated<string>
  noted_at: string | null
}

export const PATIENT_TABLES = {
  patients: 'restored',
  patient_tokens: 'restored',
  patient_grants: 'kept',
  patient_cache_faults: 'made anew',
  purged_patients: 'kept',
} as const satisfies RestoreRules

export const PATIENT_COLUMNS = {
  patients: {
    data: [
      ...['id', 'tenant_id', 'department_id', 'attending_doctor_id', 'version', 'fold_version'],
      ...['sealed_full_name', 'sealed_birth_date', 'sealed_sex', 'sealed_identifiers'],
      ...['sealed_phone', 'sealed_email', 'sealed_address', 'sealed_allergies', 'sealed_notes'],
      ...['created_at', 'updated_at', 'deleted_at'],
    ],
    deletedAt: 'deleted_at',
  },
  patient_tokens: {
    data: ['tenant_id', 'patient_id', 'kind', 'token', 'data_key_id', 'is_living'],
    // An identifier is held by living patients only.
    parked: { column: 'is_living', value: 'false' },
  },
} as const satisfies RestoreColumns

export const PURGED_PATIENTS = {
  table: 'patients',
  purged: 'purged_patients',
  parts: { patient_tokens: 'patient_id' },
} as const satisfies PurgedRecords

declare module '../../platform/db/database.ts' {
  interface Database {
    patients: PatientsTable
    patient_tokens: PatientTokensTable
    patient_grants: PatientGrantsTable
    patient_cache_faults: PatientCacheFaultsTable
    purged_patients: PurgedPatientsTable
  }
}

declare module '../../platform/db/topics.ts' {
  interface Topics {
    /** One of them has changed. */
    patient: `patient:${number}`
    /** Any of a tenant may have changed, or any at all. */
    patients: 'patients' | `patients:${number}`
    /** Caches may let go of what has expired, of one tenant or of all. */
    expired_patients: 'expired_patients' | `expired_patients:${number}`
  }
}
