import type { JWK } from 'jose'
import type { Generated, JSONColumnType } from 'kysely'
import type { RestoreRules } from '../../../platform/feature/restore-rule.ts'

export interface SigningKeysTable {
  kid: string
  public_jwk: JSONColumnType<JWK>
  sealed_private_key: Buffer
  created_at: string
  retired_at: Generated<string | null>
}

export const SIGNING_KEY_TABLES = {
  signing_keys: 'never touched',
} as const satisfies RestoreRules

declare module '../../../platform/db/database.ts' {
  interface Database {
    signing_keys: SigningKeysTable
  }
}
