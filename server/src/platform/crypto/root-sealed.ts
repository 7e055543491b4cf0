/** The registry of what the root key seals: who puts another in its place finds all of it here (ADR 0028). */
import type { Place } from './seal.ts'

/** A column that the root key seals. */
export interface RootSealed {
  readonly table: string
  readonly column: string
  /** The primary key, or what is as good as one. */
  readonly id: { readonly column: string; readonly type: 'bigint' | 'uuid' | 'text' | 'bytea' }
  /** The column that names the row in places, bytes in hexadecimal; the primary key unless told. */
  readonly row?: string
  /** The member of a JSON column in which it is in base64, and the rows' name where others have none of it. */
  readonly json?: { readonly member: string; readonly name: string }
  /** The table as places call it, where that is another word. */
  readonly placed?: string
  /** What format 1 has called it. */
  readonly formerly?: string
}

/** Where the column of a row is sealed to. */
export function rootPlace(sealed: RootSealed, row: string | number | Buffer): Place {
  const { table, column, placed = table, formerly } = sealed
  return {
    table: placed,
    column,
    row: Buffer.isBuffer(row) ? row.toString('hex') : row,
    ...(formerly === undefined ? {} : { formerly }),
  }
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

/** What it seals of the key ring and of itself. */
export const KEYS_ROOT_SEALED: readonly RootSealed[] = [
  SEALED_KEK,
  SEALED_SERVICE_KEY,
  SEALED_ROOT_KEY,
]
