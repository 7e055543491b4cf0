/** Describes the tables that data keys encrypt. A key rotation finds its rows with these descriptions (ADR 0020). */
import type { Breathe } from '../../lib/slices.ts'
import type { TenantTx } from '../db/index.ts'
import type { SealedPlace } from './seal.ts'
import type { TenantKeys } from './tenant-keys.ts'

/**
 * A table for which a migration has called `seal(…)`. `data_key_id` names the key of each row; the index
 * `<table>__by_data_key` finds rows by key and id. Rows without a `tenant_id` use the platform tenant's key.
 */
export interface SealedTable {
  readonly table: string
  readonly id: { readonly column: string; readonly type: 'bigint' | 'uuid' }
  /** The column that identifies the row in a `SealedPlace`. Defaults to the primary key. */
  readonly row?: string
  /** The encrypted columns, of type `bytea`. The first one is never null. */
  readonly columns: readonly string[]
  readonly tokens?: SealedTokens
}

/** The blind index of an encrypted table. The column `data_key_id` names the key of each token. */
export interface SealedTokens {
  readonly table: string
  /** The column that refers to a token's row. An index on `data_key_id` and this column must exist. */
  readonly of: string
  /** Adds missing tokens for the current key, and removes none. @param breathe awaited after each row */
  add(tx: TenantTx, keys: TenantKeys, rows: readonly OpenedRow[], breathe: Breathe): Promise<void>
}

export interface OpenedRow {
  readonly id: number | string
  readonly tenantId: number
  readonly values: Readonly<Record<string, Buffer | null>>
}

/** Returns the place to which the encrypted value in a row's column is bound. */
export function placeIn({ table }: SealedTable, column: string, row: string | number): SealedPlace {
  return { table, column, row }
}
