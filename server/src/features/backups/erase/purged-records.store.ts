/** The SQL of records that were destroyed one at a time. */
import { sql } from 'kysely'
import pg from 'pg'
import { type Connection, PLATFORM_ROLE, type TenantTx } from '../../../platform/db/index.ts'
import type { PurgedRecords } from '../../../platform/restore-rule.ts'

const id = pg.escapeIdentifier

export interface PurgedRecord {
  id: number
  tenant_id: number
}

/** Records of one table that were destroyed, by the notes in a store. */
export interface RecordNotes {
  /** The table of the records. */
  table: string
  installation: string
  ids: PurgedRecord[]
}

/** Returns the installation, and up to `limit` records that the store has not recorded, by id. */
export async function listUnnoted(
  tx: TenantTx,
  { purged }: PurgedRecords,
  limit: number,
): Promise<{ installation: string; ids: PurgedRecord[] }> {
  const { rows } = await sql<{ installation: string; ids: PurgedRecord[] | null }>`
    select i.id as installation, (
      select json_agg(json_build_object('id', u.id, 'tenant_id', u.tenant_id) order by u.id) from (
        select id, tenant_id from ${sql.table(purged)} where noted_at is null
        order by id limit ${limit}) u) as ids
    from installation i`.execute(tx.db)
  return { installation: rows[0]?.installation ?? '', ids: rows[0]?.ids ?? [] }
}

export async function saveNoted(
  tx: TenantTx,
  { purged }: PurgedRecords,
  ids: readonly number[],
): Promise<void> {
  await sql`update ${sql.table(purged)} set noted_at = now() where id = any(${ids})`.execute(tx.db)
}

/** Deletes the records of the notes from a loaded database, as the role that sees all. Returns how many. */
export async function deleteNoted(
  client: Connection,
  records: readonly PurgedRecords[],
  notes: readonly RecordNotes[],
): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {}
  await client.query(`set local role ${PLATFORM_ROLE}`)
  for (const { table } of records) {
    const ids = notes.filter((note) => note.table === table).flatMap((note) => note.ids)
    if (ids.length === 0) continue
    const gone = await client.query(`delete from ${id(table)} where id = any($1)`, [
      ids.map((one) => one.id),
    ])
    if (gone.rowCount) deleted[table] = gone.rowCount
  }
  await client.query('reset role')
  return deleted
}

/** Enters what notes tell, and has them noted again. A schema that is older than the records has nothing to enter. */
export async function enterRecords(
  client: Connection,
  records: readonly PurgedRecords[],
  notes: readonly RecordNotes[],
): Promise<void> {
  await client.query('begin')
  await client.query(`set local role ${PLATFORM_ROLE}`)
  for (const one of records) {
    const { rows } = await client.query('select from pg_class where oid = to_regclass($1)', [
      one.purged,
    ])
    if (rows.length === 0) continue
    // The store may be another one.
    await client.query(`update ${id(one.purged)} set noted_at = null`)
    const ids = notes.filter((note) => note.table === one.table).flatMap((note) => note.ids)
    await client.query(
      `insert into ${id(one.purged)} (id, tenant_id)
       select n.id, n.tenant_id from unnest($1::bigint[], $2::bigint[]) n (id, tenant_id)
       join tenants t on t.id = n.tenant_id on conflict do nothing`,
      [ids.map((noted) => noted.id), ids.map((noted) => noted.tenant_id)],
    )
  }
  await client.query('commit')
}

/** Takes destroyed records and their parts off the stage. Returns how many records of each table it had. */
export async function dropPurged(
  client: Connection,
  records: readonly PurgedRecords[],
  isStaged: (table: string) => boolean,
  stageOf: (table: string) => string,
): Promise<Record<string, number>> {
  const dropped: Record<string, number> = {}
  await client.query(`set local role ${PLATFORM_ROLE}`)
  for (const { table, purged, parts } of records) {
    if (!isStaged(table)) continue
    const listed = `(select p.id from ${id(purged)} p)`
    for (const [part, column] of Object.entries(parts))
      if (isStaged(part))
        await client.query(`delete from ${stageOf(part)} where ${id(column)} in ${listed}`)
    const gone = await client.query(`delete from ${stageOf(table)} where id in ${listed}`)
    if (gone.rowCount) dropped[table] = gone.rowCount
  }
  await client.query('reset role')
  return dropped
}
