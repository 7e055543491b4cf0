/** The SQL of sealing anew: rows of a retired key, whatever their table. */
import { sql } from 'kysely'
import type { SealedTable } from '../../platform/crypto/index.ts'
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

/** The retired keys that rows of the table still name. */
export async function keysLeft(tx: TenantTx, table: string): Promise<OldKey[]> {
  const { rows } = await sql<OldKey>`
    select k.id, k.tenant_id from data_keys k
    where k.retired_at is not null
      and exists (select from ${sql.table(table)} t where t.data_key_id = k.id)
    order by k.id`.execute(tx.db)
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
  const inEach = tables.map(
    (table) => sql`exists (select from ${sql.table(table)}
      where data_key_id in (select id from data_keys where retired_at is not null))`,
  )
  const { rows } = await sql<{
    are: boolean
  }>`select ${sql.join(inEach, sql` or `)} as are`.execute(tx.db)
  return rows[0]?.are ?? false
}

export async function countLeft(tx: TenantTx, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(table)}
    where data_key_id in (select id from data_keys where retired_at is not null)`.execute(tx.db)
  return rows[0]?.count ?? 0
}

/** Deletes some tokens of retired keys. Returns how many. */
export async function deleteTokens(tx: TenantTx, table: string, limit: number): Promise<number> {
  const result = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)}
      where data_key_id in (select id from data_keys where retired_at is not null)
      limit ${limit} for update skip locked))`.execute(tx.db)
  return Number(result.numAffectedRows ?? 0)
}
