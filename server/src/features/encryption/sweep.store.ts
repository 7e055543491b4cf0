/** The SQL of sealing anew: rows of a retired key, whatever their table. */
import { sql } from 'kysely'
import type { SealedTable, SealedTokens } from '../../platform/crypto/index.ts'
import { byteaArray, type TenantTx } from '../../platform/db/index.ts'

/** A data key that seals no more. */
export interface OldKey {
  id: number
  tenant_id: number
}

export type RowId = string | number
export type Position = RowId | null

/** Its sealed columns by their names, beside what names the row itself and in places. */
export type SealedRow = Readonly<Record<string, Buffer | RowId | null>> & {
  readonly $id: RowId
  readonly $row: RowId
}

/**
 * The rows of a retired key `k`. Behind a sweep there are dead ones alone, which no statistics know of: to tell that
 * none is left, a walk along the table would read all of it each time. So they are asked for as a range, of which the
 * planner expects few, and by the one index that knows their key.
 */
const ofKey = (table: string) => sql`${sql.table(table)} t
  where t.data_key_id >= k.id and t.data_key_id <= k.id`

/** The retired keys with a row of the table. */
const stillNamed = (table: string) => sql`data_keys k
  cross join lateral (select from ${ofKey(table)} order by t.data_key_id limit 1) one
  where k.retired_at is not null`

/** The retired keys that rows of the table still name. */
export async function keysLeft(tx: TenantTx, table: string): Promise<OldKey[]> {
  const { rows } = await sql<OldKey>`
    select k.id, k.tenant_id from ${stillNamed(table)} order by k.id`.execute(tx.db)
  return rows
}

/**
 * The next rows of a key, locked until the transaction ends; those that others hold are left to a later
 * pass. Rows that are sealed anew name another key, and so are no longer among them.
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

/**
 * Writes what was sealed anew, and nothing beside it. Nobody waits for it but the commit.
 * @param values by column, in the order of `ids`
 */
export function writeSealed(
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

/** Whether any row of the tables still names a retired key. */
export async function areLeft(tx: TenantTx, tables: readonly string[]): Promise<boolean> {
  const inEach = tables.map((table) => sql`exists (select from ${stillNamed(table)})`)
  const { rows } = await sql<{
    are: boolean
  }>`select ${sql.join(inEach, sql` or `)} as are`.execute(tx.db)
  return rows[0]?.are ?? false
}

export async function countLeft(tx: TenantTx, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from data_keys k
    cross join lateral (select from ${ofKey(table)} offset 0) one
    where k.retired_at is not null`.execute(tx.db)
  return rows[0]?.count ?? 0
}

/** Tokens that were deleted together. */
export interface DeletedTokens {
  count: number
  /** Where to go on: among those of the last row, of which some may be left; null where there is no more. */
  last: Position
}

/**
 * Deletes the next tokens of a key, in the order of the rows that they are of; those that others hold are left. Who
 * goes on from `last` does not read again what is deleted and lies there until the next vacuum.
 */
export async function deleteTokens(
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
