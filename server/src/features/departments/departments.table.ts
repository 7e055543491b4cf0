import type { Generated } from 'kysely'
import type { RestoreColumns } from '../../platform/feature/restore-columns.ts'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'

export interface DepartmentsTable {
  id: Generated<number>
  tenant_id: number
  name: string
  head_doctor_id: number | null
  created_at: Generated<string>
  /** The folded name, then the original (`nameKey`). `is_folded` is true if this release's folding rules apply. */
  name_key: string
  is_folded: Generated<boolean>
  /** True for a department of an earlier release that has the same folded name as another department of the tenant. */
  is_double: Generated<boolean>
}

export const DEPARTMENT_TABLES = {
  departments: 'restored',
} as const satisfies RestoreRules

export const DEPARTMENT_COLUMNS = {
  departments: {
    data: [
      ...['id', 'tenant_id', 'name', 'head_doctor_id', 'created_at'],
      ...['name_key', 'is_folded', 'is_double'],
    ],
    parked: { column: 'name', value: `'restoring-' || live.id` },
  },
} as const satisfies RestoreColumns

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
