/** The SQL that reads all that data keys seal, whoever's it is and whether it is deleted or not. */
import { sql } from 'kysely'
import type { SealedTable, WrappedKey } from '../../platform/crypto/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import type { Position } from './sweep.store.ts'

/** A data key with whose it is. */
export interface OwnedKey extends WrappedKey {
  tenant_id: number
}

/** A data key whose key-encryption key may be missing. */
export type FoundKey = Omit<OwnedKey, 'wrapped_kek'> & { wrapped_kek: Buffer | null }

export interface WholeRow extends Record<string, unknown> {
  $id: string | number
  /** What places call it by. */
  $row: string | number
  $tenant: number
  /** The data key that it names, read at the same instant. */
  $key: number | null
  $wrapped: Buffer
  $kek: number
  /** Null where the key-encryption key is missing. */
  $wrapped_kek: Buffer | null
}

/** The next rows in the order of their ids; those of no tenant are the platform tenant's. */
export async function nextRows(
  tx: TenantTx,
  { table, id, row = id.column, columns }: SealedTable,
  after: Position,
  limit: number,
): Promise<WholeRow[]> {
  const column = (name: string) => sql.ref(`t.${name}`)
  const behind = after === null ? sql`` : sql`where ${column(id.column)} > ${after}`
  const { rows } = await sql<WholeRow>`
    select ${column(id.column)} as "$id", ${column(row)} as "$row",
      coalesce(t.tenant_id, (select id from tenants where is_platform)) as "$tenant",
      k.id as "$key", k.wrapped_key as "$wrapped",
      k.key_encryption_key_id as "$kek", kek.wrapped_key as "$wrapped_kek",
      ${sql.join(columns.map(column))}
    from ${sql.table(table)} t
    left join data_keys k on k.id = t.data_key_id
    left join key_encryption_keys kek on kek.id = k.key_encryption_key_id
    ${behind} order by ${column(id.column)} limit ${limit}`.execute(tx.db)
  return rows
}

/** All data keys, in the order of their ids. */
export async function listDataKeys(tx: TenantTx): Promise<FoundKey[]> {
  const { rows } = await sql<FoundKey>`
    select k.id, k.tenant_id, k.wrapped_key, k.key_encryption_key_id as kek_id, kek.wrapped_key as wrapped_kek
    from data_keys k left join key_encryption_keys kek on kek.id = k.key_encryption_key_id
    order by k.id`.execute(tx.db)
  return rows
}
