import type { Generated } from 'kysely'
import type { RestoreRules } from '../restore-rule.ts'

export interface KeyEncryptionKeysTable {
  id: Generated<number>
  wrapped_key: Buffer
  created_at: Generated<string>
  retired_at: Generated<string | null>
}

export interface DataKeysTable {
  id: Generated<number>
  tenant_id: number
  key_encryption_key_id: number
  wrapped_key: Buffer
  created_at: Generated<string>
  retired_at: Generated<string | null>
}

export const KEY_TABLES = {
  key_encryption_keys: 'merged',
  data_keys: 'merged',
} as const satisfies RestoreRules

declare module '../db/database.ts' {
  interface Database {
    key_encryption_keys: KeyEncryptionKeysTable
    data_keys: DataKeysTable
  }
}
