import type { Generated, JSONColumnType } from 'kysely'

export interface PreferencesTable {
  user_id: number
  tenant_id: number
  theme: string
  settings: JSONColumnType<Record<string, unknown>>
  updated_at: Generated<string>
}

declare module '../../platform/db/database.ts' {
  interface Database {
    preferences: PreferencesTable
  }
}
