/** The SQL for individually purged records, such as patients. */
import { sql } from 'kysely'
import pg from 'pg'
import { type PgConnection, PLATFORM_ROLE, type TenantTx } from '../../../platform/db/index.ts'
import type { PurgedRecords } from '../../../platform/feature/restore-rule.ts'

const id = pg.escapeIdentifier

export interface PurgedRecord {
  id: number
  tenant_id: number
}

export interface RecordNotes {
  table: string
  installation: string
  ids: PurgedRecord[]
}

/** Returns the installation id, and up to `limit` purged records that no note lists yet, ordered by id. */
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

/**
 * Deletes the records listed in notes from a newly loaded database, using the role that sees all rows. Returns the
 * number of deleted records for each table.
 */
export async function deleteNoted(
  client: PgConnection,
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

/** Records the purged records of notes, and schedules new notes. Skips tables that an older schema lacks. */
export async function enterRecords(
  client: PgConnection,
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
    // Marks the records as not noted, because the current store may be another one that has none of these notes.
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

/** Deletes purged records and their dependent rows from the staging tables. Returns the counts by table. */
export async function dropPurged(
  client: PgConnection,
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
