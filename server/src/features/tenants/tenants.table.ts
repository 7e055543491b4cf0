import type { Generated, JSONColumnType } from 'kysely'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'

export interface TenantsTable {
  id: Generated<number>
  name: string
  subdomain: string
  settings: JSONColumnType<Record<string, unknown>>
  is_active: Generated<boolean>
  is_platform: Generated<boolean>
  is_demo: Generated<boolean>
  created_at: Generated<string>
  deleted_at: string | null
  purge_started_at: string | null
}

export const TENANT_TABLES = {
  tenants: 'restored',
} as const satisfies RestoreRules

declare module '../../platform/db/database.ts' {
  interface Database {
    tenants: TenantsTable
  }
}

declare module '../../platform/db/topics.ts' {
  interface Topics {
    tenant: `tenant:${number}`
  }
}
