import type { Generated } from 'kysely'

export interface DepartmentsTable {
  id: Generated<number>
  tenant_id: number
  name: string
  head_doctor_id: number | null
  created_at: Generated<string>
}

declare module '../../platform/db/database.ts' {
  interface Database {
    departments: DepartmentsTable
  }
}

declare module '../../platform/db/topics.ts' {
  interface Topics {
    department: `department:${number}`
  }
}
