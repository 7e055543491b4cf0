import type { Generated, GeneratedAlways } from 'kysely'
import type { RestoreColumns } from '../../platform/feature/restore-columns.ts'
import type { PurgedRecords, RestoreRules } from '../../platform/feature/restore-rule.ts'
import type { SealedColumns } from './records/fields.ts'

export interface PatientsTable extends SealedColumns {
  id: Generated<number>
  tenant_id: number
  department_id: number | null
  attending_doctor_id: number | null
  version: Generated<number>
  /** The data key of all encrypted columns of the row. The database derives the id from the encrypted values. */
  data_key_id: GeneratedAlways<number>
  created_at: Generated<string>
  updated_at: Generated<string>
  deleted_at: string | null
  /** The version of the folding rules that produced the search tokens of the row. */
  fold_version: Generated<number>
}

/** The search tokens of patients. Each patient has tokens under every data key that is not deleted. */
export interface PatientTokensTable {
  tenant_id: number
  patient_id: number
  kind: number
  token: Buffer
  data_key_id: number
  is_living: Generated<boolean>
}

/** Break-glass grants, which let a user see a patient outside their department for a stated reason. */
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

/** Cached patients that differ from their database rows, recorded by each node. */
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

/** Purged patients, which must not be restored from any backup. */
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
  patient_cache_faults: 'rebuilt',
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
    // A deleted patient does not reserve identifiers.
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
    /** A patient has changed. */
    patient: `patient:${number}`
    /** Some or all patients may have changed, either of one tenant or of all tenants. */
    patients: 'patients' | `patients:${number}`
    /** Nodes should drop expired patients from their caches, either of one tenant or of all tenants. */
    expired_patients: 'expired_patients' | `expired_patients:${number}`
  }
}
