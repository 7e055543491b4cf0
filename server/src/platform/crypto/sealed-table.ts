/** Describes the tables that data keys encrypt. A key rotation finds its rows with these descriptions (ADR 0020). */
import type { Breathe } from '../../lib/slices.ts'
import type { TenantTx } from '../db/index.ts'
import type { SealedPlace } from './seal.ts'
import type { TenantKeys } from './tenant-keys.ts'

/**
 * A table with encrypted columns. A migration has called `seal(…)` for the table. The column `data_key_id` names the
 * key of each row. The index `<table>__by_data_key` finds the rows of a key in the order of their ids. The key belongs
 * to the tenant in `tenant_id`, or to the platform tenant if `tenant_id` is null.
 */
export interface SealedTable {
  readonly table: string
  /** The primary key of the table. */
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
  /**
   * Adds the tokens that the rows do not have for the current key yet, and removes none. Tokens of previous keys
   * already exist.
   * @param breathe awaited after each row, so that other work can run
   */
  add(tx: TenantTx, keys: TenantKeys, rows: readonly OpenedRow[], breathe: Breathe): Promise<void>
}

/** A row whose encrypted columns have been decrypted. */
export interface OpenedRow {
  readonly id: number | string
  readonly tenantId: number
  readonly values: Readonly<Record<string, Buffer | null>>
}

/** Returns the place to which the encrypted value in a row's column is bound. */
export function placeIn({ table }: SealedTable, column: string, row: string | number): SealedPlace {
  return { table, column, row }
}
