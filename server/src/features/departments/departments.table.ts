import type { Generated } from 'kysely'
import type { RestoreColumns } from '../../platform/restore-columns.ts'
import type { RestoreRules } from '../../platform/restore-rule.ts'

export interface DepartmentsTable {
  id: Generated<number>
  tenant_id: number
  name: string
  head_doctor_id: number | null
  created_at: Generated<string>
  /** The folded name and the name (`nameKey`), and whether this release's fold has made it. */
  name_key: string
  is_folded: Generated<boolean>
  /** True for an older department whose name folds to that of another one of its tenant. */
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
