/** Describes the columns that the root key encrypts. A rotation finds its values with these descriptions (ADR 0028). */
import type { SealedPlace } from './seal.ts'

export interface RootSealed {
  readonly table: string
  readonly column: string
  /** The primary key, or another unique column. */
  readonly id: { readonly column: string; readonly type: 'bigint' | 'uuid' | 'text' | 'bytea' }
  /** The column that identifies the row in a `SealedPlace` (bytes as hexadecimal). Defaults to `id`. */
  readonly row?: string
  /** For JSON columns: the member that contains the value in base64, and the `name` of the rows with this member. */
  readonly json?: { readonly member: string; readonly name: string }
  /** The table's name in a `SealedPlace`, if it differs from `table`. */
  readonly placed?: string
}

/** Returns the place to which the encrypted value in a row's column is bound. */
export function rootPlace(sealed: RootSealed, row: string | number | Buffer): SealedPlace {
  const { table, column, placed = table } = sealed
  return { table: placed, column, row: Buffer.isBuffer(row) ? row.toString('hex') : row }
}

export const SEALED_KEK: RootSealed = {
  table: 'key_encryption_keys',
  column: 'wrapped_key',
  id: { column: 'id', type: 'bigint' },
}

export const SEALED_SERVICE_KEY: RootSealed = {
  table: 'service_key',
  column: 'sealed_key',
  id: { column: 'id', type: 'bigint' },
}

export const SEALED_ROOT_KEY: RootSealed = {
  table: 'root_keys',
  column: 'sealed_key',
  id: { column: 'fingerprint', type: 'text' },
}

export const KEYS_ROOT_SEALED: readonly RootSealed[] = [
  SEALED_KEK,
  SEALED_SERVICE_KEY,
  SEALED_ROOT_KEY,
]
