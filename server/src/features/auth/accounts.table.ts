import type { Generated } from 'kysely'

export type TokenPurpose = 'verify_email' | 'reset_password'

export interface AccountTokensTable {
  tenant_id: number
  user_id: number
  purpose: TokenPurpose
  token_hash: Buffer
  email: string
  expires_at: string
  created_at: Generated<string>
}

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

declare module '../../platform/db/database.ts' {
  interface Database {
    account_tokens: AccountTokensTable
    second_factors: SecondFactorsTable
    recovery_codes: RecoveryCodesTable
  }
}
