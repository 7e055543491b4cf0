import type { Generated } from 'kysely'
import type { RestoreRules } from '../../../platform/restore-rule.ts'

export interface SecondFactorsTable {
  user_id: number
  tenant_id: number
  sealed_secret: Buffer
  confirmed_at: string | null
  last_step: Generated<number>
  created_at: Generated<string>
}

export interface RecoveryCodesTable {
  user_id: number
  tenant_id: number
  code_hash: Buffer
  used_at: string | null
}

export const SECOND_FACTOR_TABLES = {
  second_factors: 'merged',
  recovery_codes: 'merged',
} as const satisfies RestoreRules

declare module '../../../platform/db/database.ts' {
  interface Database {
    second_factors: SecondFactorsTable
    recovery_codes: RecoveryCodesTable
  }
}
