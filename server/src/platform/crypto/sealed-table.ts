/** The registry of what data keys seal: who replaces a key finds all of it here (ADR 0020). */
import type { Breathe } from '../../lib/slices.ts'
import type { TenantTx } from '../db/index.ts'
import type { Place } from './seal.ts'
import type { TenantKeys } from './tenant-keys.ts'

/**
 * A table with sealed columns. Its migration has called `seal(…)` for it: a row names its key in
 * `data_key_id`, and `<table>__by_data_key` finds the rows of a key in the order of their ids. The key is
 * that of the tenant in `tenant_id`, or the platform tenant's where that is null.
 */
export interface SealedTable {
  readonly table: string
  /** The primary key. */
  readonly id: { readonly column: string; readonly type: 'bigint' | 'uuid' }
  /** The column that names the row in places, where that is not the primary key. */
  readonly row?: string
  /** Of type `bytea`. The first is never null. */
  readonly columns: readonly string[]
  /** What format 1 has called a column, by the column. */
  readonly formerly?: Readonly<Record<string, string>>
  readonly tokens?: SealedTokens
}

/** The blind index of a sealed table: a table with the key of each token in its `data_key_id`. */
export interface SealedTokens {
  readonly table: string
  /** The column that says of which row a token is: an index finds the tokens of a key in its order. */
  readonly of: string
  /**
   * Adds what is missing of the rows' tokens by the key that seals, and takes none away: those by the
   * keys before it are there since the rows were written.
   * @param breathe waited for after each row
   */
  add(tx: TenantTx, keys: TenantKeys, rows: readonly OpenedRow[], breathe: Breathe): Promise<void>
}

/** A row with its sealed columns opened. */
export interface OpenedRow {
  readonly id: number | string
  readonly tenantId: number
  readonly values: Readonly<Record<string, Buffer | null>>
}

/** Where a column of a row is sealed to. */
export function placeIn(sealed: SealedTable, column: string, row: string | number): Place {
  const { table, formerly } = sealed
  const old = formerly?.[column]
  return { table, column, row, ...(old === undefined ? {} : { formerly: old }) }
}
