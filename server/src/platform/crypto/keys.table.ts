import type { Generated } from 'kysely'

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

declare module '../db/database.ts' {
  interface Database {
    key_encryption_keys: KeyEncryptionKeysTable
    data_keys: DataKeysTable
  }
}
