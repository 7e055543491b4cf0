import type { Generated } from 'kysely'

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

declare module '../../../platform/db/database.ts' {
  interface Database {
    second_factors: SecondFactorsTable
    recovery_codes: RecoveryCodesTable
  }
}
