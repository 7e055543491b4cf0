import type { JWK } from 'jose'
import type { Generated, JSONColumnType } from 'kysely'

export interface SigningKeysTable {
  kid: string
  public_jwk: JSONColumnType<JWK>
  sealed_private_key: Buffer
  created_at: string
  retired_at: Generated<string | null>
}

declare module '../../../platform/db/database.ts' {
  interface Database {
    signing_keys: SigningKeysTable
  }
}
