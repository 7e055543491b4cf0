import type { Generated, JSONColumnType } from 'kysely'
import type { RestoreRules } from '../../platform/restore-rule.ts'

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

declare module '../../platform/db/database.ts' {
  interface Database {
    preferences: PreferencesTable
  }
}
