/** The SQL for re-encryption: finds, locks and updates rows that use a retired key, in any table. */
import { sql } from 'kysely'
import type { SealedTable, SealedTokens } from '../../platform/crypto/index.ts'
import { byteaArray, type TenantTx } from '../../platform/db/index.ts'

/** A retired data key, which no longer encrypts new data. */
export interface OldKey {
  id: number
  tenant_id: number
}

export type RowId = string | number
export type Position = RowId | null

/**
 * The encrypted columns of a row, by name. `$id` identifies the row. `$row` is the id that is bound to the encrypted
 * values.
 */
export type SealedRow = Readonly<Record<string, Buffer | RowId | null>> & {
  readonly $id: RowId
  readonly $row: RowId
}

/**
 * Selects the rows of a retired key `k`. Once all rows are re-encrypted, only dead rows of the key remain, but the
 * planner's statistics still count them. A plan based on these statistics would scan the whole table without finding a
 * row. With the range condition, the planner expects few rows and uses the index on the key.
 */
const ofKey = (table: string) => sql`${sql.table(table)} t
  where t.data_key_id >= k.id and t.data_key_id <= k.id`

/** Returns a FROM clause for the retired keys that rows of the table still use. */
const stillNamed = (table: string) => sql`data_keys k
  cross join lateral (select from ${ofKey(table)} order by t.data_key_id limit 1) one
  where k.retired_at is not null`

/** Returns the retired keys that rows of the table still use. */
export async function keysLeft(tx: TenantTx, table: string): Promise<OldKey[]> {
  const { rows } = await sql<OldKey>`
    select k.id, k.tenant_id from ${stillNamed(table)} order by k.id`.execute(tx.db)
  return rows
}

/**
 * Locks the next rows of a key until the transaction ends. Skips rows that another transaction has locked; a later pass
 * finds them. Re-encrypted rows use another key, so they no longer match.
 */
export async function lockRows(
  tx: TenantTx,
  { table, id, row = id.column, columns }: SealedTable,
  keyId: number,
  after: Position,
  limit: number,
): Promise<SealedRow[]> {
  const idColumn = sql.ref(id.column)
  const behind = after === null ? sql`` : sql`and ${idColumn} > ${after}`
  const { rows } = await sql<SealedRow>`
    select ${idColumn} as "$id", ${sql.ref(row)} as "$row", ${sql.join(columns.map((column) => sql.ref(column)))}
    from ${sql.table(table)} where data_key_id = ${keyId} ${behind}
    order by ${idColumn} limit ${limit} for no key update skip locked`.execute(tx.db)
  return rows
}

/** Sends the statement that writes the values, without waiting. @param values by column, in the order of `ids` */
export function writeReencrypted(
  tx: TenantTx,
  { table, id, columns }: SealedTable,
  ids: readonly RowId[],
  values: readonly (readonly (Buffer | null)[])[],
): void {
  const type = sql.raw(id.type)
  const lists = values.map((list) => sql`${byteaArray(list)}::bytea[]`)
  const sets = columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`v.${column}`)}`)
  tx.send(
    sql`update ${sql.table(table)} t set ${sql.join(sets)}
      from unnest(${ids}::${type}[], ${sql.join(lists)})
        as v ("$id", ${sql.join(columns.map((column) => sql.ref(column)))})
      where ${sql.ref(`t.${id.column}`)} = v."$id"`.compile(tx.db),
  )
}

/** Returns true if any row of the tables still uses a retired key. */
export async function areLeft(tx: TenantTx, tables: readonly string[]): Promise<boolean> {
  const inEach = tables.map((table) => sql`exists (select from ${stillNamed(table)})`)
  const { rows } = await sql<{
    are: boolean
  }>`select ${sql.join(inEach, sql` or `)} as are`.execute(tx.db)
  return rows[0]?.are ?? false
}

/** Counts the rows of a table that still use retired keys. @param limit stops counting at this number */
export async function countLeft(tx: TenantTx, table: string, limit?: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from data_keys k
      cross join lateral (select from ${ofKey(table)} offset 0) one
      where k.retired_at is not null ${limit === undefined ? sql`` : sql`limit ${limit}`}) few`.execute(
    tx.db,
  )
  return rows[0]?.count ?? 0
}

/** The tokens that one statement deleted. */
export interface DeletedTokens {
  count: number
  /** The row with which to continue, because some of its tokens may remain. Null if no tokens remain. */
  last: Position
}

/**
 * Deletes the next search tokens of a key, in the order of their rows. Skips tokens that another transaction has
 * locked. The caller continues from `last`. Otherwise it would read the deleted tokens again, which stay on disk until
 * the next vacuum.
 */
export async function deleteOldTokens(
  tx: TenantTx,
  { table, of }: Pick<SealedTokens, 'table' | 'of'>,
  keyId: number,
  from: Position,
  limit: number,
): Promise<DeletedTokens> {
  const column = sql.ref(of)
  const behind = from === null ? sql`` : sql`and ${column} >= ${from}`
  const { rows } = await sql<{ last: RowId; count: number }>`
    with deleted as (
      delete from ${sql.table(table)} where ctid = any(array(
        select ctid from ${sql.table(table)} where data_key_id = ${keyId} ${behind}
        order by ${column} limit ${limit} for update skip locked))
      returning ${column} as row)
    select row as last, count(*) over () as count from deleted order by row desc limit 1`.execute(
    tx.db,
  )
  const { last = null, count = 0 } = rows[0] ?? {}
  return { count, last: count < limit ? null : last }
}
