import type { Generated } from 'kysely'

export interface PatientsTable {
  id: Generated<number>
  tenant_id: number
  department_id: number | null
  attending_doctor_id: number | null
  created_at: Generated<string>
  updated_at: Generated<string>
}

declare module '../../platform/db/database.ts' {
  interface Database {
    patients: PatientsTable
  }
}
