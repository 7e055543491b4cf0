import type { Generated, JSONColumnType } from 'kysely'
import type { RestoreColumns } from '../../platform/feature/restore-columns.ts'
import type { RestoreRules } from '../../platform/feature/restore-rule.ts'

export interface PreferencesTable {
  user_id: number
  tenant_id: number
  theme: string
  settings: JSONColumnType<Record<string, unknown>>
  updated_at: Generated<string>
}

export const PREFERENCE_TABLES = {
  preferences: 'restored',
} as const satisfies RestoreRules

export const PREFERENCE_COLUMNS = {
  preferences: { data: ['user_id', 'tenant_id', 'theme', 'settings', 'updated_at'] },
} as const satisfies RestoreColumns

declare module '../../platform/db/database.ts' {
  interface Database {
    preferences: PreferencesTable
  }
}
