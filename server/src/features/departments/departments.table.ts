import type { Generated } from 'kysely'
import type { RestoreRules } from '../../platform/restore-rule.ts'

export interface DepartmentsTable {
  id: Generated<number>
  tenant_id: number
  name: string
  head_doctor_id: number | null
  created_at: Generated<string>
}

export const DEPARTMENT_TABLES = {
  departments: 'restored',
} as const satisfies RestoreRules

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
