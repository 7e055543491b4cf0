import type { Generated } from 'kysely'
import type { RestoreRules } from '../../../platform/feature/restore-rule.ts'

export type TokenPurpose = 'verify_email' | 'reset_password' | 'invitation'

export interface AccountTokensTable {
  tenant_id: number
  user_id: number
  purpose: TokenPurpose
  token_hash: Buffer
  email: string
  expires_at: string
  created_at: Generated<string>
}

export const ACCOUNT_TOKEN_TABLES = {
  account_tokens: 'ended',
} as const satisfies RestoreRules

declare module '../../../platform/db/database.ts' {
  interface Database {
    account_tokens: AccountTokensTable
  }
}
