import type { Generated } from 'kysely'
import type { RestoreColumns } from '../feature/restore-columns.ts'
import type { RestoreRules } from '../feature/restore-rule.ts'

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

export interface RootKeysTable {
  fingerprint: string
  created_at: Generated<string>
  retired_at: Generated<string | null>
  sealed_key: Generated<Buffer | null>
}

export interface ServiceKeyTable {
  id: number
  sealed_key: Buffer
  created_at: Generated<string>
}

export const KEY_TABLES = {
  root_keys: 'kept',
  service_key: 'kept',
  key_encryption_keys: 'merged',
  data_keys: 'merged',
} as const satisfies RestoreRules

/** Keys that come from a backup only decrypt existing data. The current keys still encrypt new data. */
const retired_at = { merged: 'stage.retired_at', deleted: 'coalesce(stage.retired_at, now())' }
export const KEY_COLUMNS = {
  key_encryption_keys: { data: ['id', 'wrapped_key', 'created_at'], access: { retired_at } },
  data_keys: {
    data: ['id', 'tenant_id', 'key_encryption_key_id', 'wrapped_key', 'created_at'],
    access: { retired_at },
  },
} as const satisfies RestoreColumns

declare module '../db/database.ts' {
  interface Database {
    key_encryption_keys: KeyEncryptionKeysTable
    data_keys: DataKeysTable
    root_keys: RootKeysTable
    service_key: ServiceKeyTable
  }
}
