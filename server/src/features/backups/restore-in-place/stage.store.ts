/**
 * The SQL of the stage. The stage consists of temporary tables with the rows of a backup. They do not affect the live
 * tables, and no other connection can see them.
 */
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { APP_ROLE, type PgConnection, PLATFORM_ROLE } from '../../../platform/db/index.ts'
import type { BackedUpTable } from '../file/format.ts'

export const id = pg.escapeIdentifier

/** A table to restore, with the columns needed to stage and apply its rows. */
export interface Staged {
  name: string
  /** The columns to restore. Generated columns are left out. */
  columns: readonly string[]
  key: readonly string[]
  /** The column that contains the tenant id; null if the rows belong to no tenant. */
  tenant: string | null
  /** Columns that refer to tables that are applied later. They are set once the rows of those tables exist. */
  late: readonly string[]
  /** Columns that the database sets to null when the referenced row is deleted. */
  emptied: readonly string[]
}

export const stageOf = (name: string): string => id(`stage_${name}`)

/** Returns the SQL condition that matches a `stage` row with its `live` row by primary key. */
export const matching = ({ key }: Pick<Staged, 'key'>): string =>
  key.map((column) => `live.${id(column)} = stage.${id(column)}`).join(' and ')

/** Creates an empty staging table for each table. Staging tables last until the connection ends. */
export async function makeStages(
  client: PgConnection,
  tables: readonly BackedUpTable[],
): Promise<Staged[]> {
  const staged = inOrder(await describe(client, tables), await referencesOf(client, tables))
  for (const { name } of staged) {
    await client.query(`create temporary table ${stageOf(name)} (like ${id(name)})`)
    // Drops generated columns, because COPY cannot write them.
    const { rows } = await client.query<{ column: string }>(
      `select attname as column from pg_attribute
       where attrelid = $1::regclass and attgenerated <> '' and not attisdropped`,
      [id(name)],
    )
    for (const { column } of rows)
      await client.query(`alter table ${stageOf(name)} drop column ${id(column)}`)
    await client.query(
      `grant select, insert, update, delete on ${stageOf(name)} to ${APP_ROLE}, ${PLATFORM_ROLE}`,
    )
  }
  return staged
}

/** Copies complete rows in COPY's text format to a staging table. On an error, copies none of them. */
export async function copyToStage(
  client: PgConnection,
  { name, columns }: Staged,
  rows: Buffer,
): Promise<void> {
  const listed = columns.map(id).join(', ')
  const stream = client.query(copyFrom(`copy ${stageOf(name)} (${listed}) from stdin`))
  await finished(stream.end(rows))
}

/** Deletes the rows of the given tenants from all staging tables. Returns the ids of those that were staged. */
export async function dropTenants(
  client: PgConnection,
  staged: readonly Staged[],
  tenants: readonly number[],
): Promise<number[]> {
  const { rows: there } = await client.query<{ id: string }>(
    'select id from stage_tenants where id = any($1) order by id',
    [tenants],
  )
  const dropped = there.map(({ id: tenant }) => Number(tenant))
  for (const { name, tenant } of staged)
    if (tenant && dropped.length > 0)
      await client.query(`delete from ${stageOf(name)} where ${id(tenant)} = any($1)`, [dropped])
  return dropped
}

/** Creates indexes on the staging tables and analyzes them, so that lookups by primary key are fast. */
export async function indexStages(client: PgConnection, staged: readonly Staged[]): Promise<void> {
  for (const { name, key } of staged) {
    await client.query(`create unique index on ${stageOf(name)} (${key.map(id).join(', ')})`)
    await client.query(`analyze ${stageOf(name)}`)
  }
}

interface Described extends Omit<Staged, 'late' | 'emptied'> {}

async function describe(
  client: PgConnection,
  tables: readonly BackedUpTable[],
): Promise<Described[]> {
  const { rows } = await client.query<Omit<Described, 'columns'>>(
    `select c.relname as name,
       array(select a.attname::text from pg_index i, unnest(i.indkey) k
         join pg_attribute a on a.attnum = k and a.attrelid = c.oid
         where i.indrelid = c.oid and i.indisprimary) as key,
       case when c.relname = 'tenants' then 'id' else (select a.attname from pg_attribute a
         where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped) end as tenant
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = any($1)`,
    [tables.map(({ name }) => name)],
  )
  return rows.map((row) => ({
    ...row,
    columns: tables.find(({ name }) => name === row.name)?.columns ?? [],
  }))
}

interface Reference {
  from: string
  to: string
  columns: string[]
  /** True if a referencing column may be null. */
  optional: boolean
  isEmptied: boolean
}

async function referencesOf(
  client: PgConnection,
  tables: readonly BackedUpTable[],
): Promise<Reference[]> {
  const { rows } = await client.query<Reference>(
    `select f.relname as "from", t.relname as "to",
       array(select a.attname::text from unnest(c.conkey) k join pg_attribute a
         on a.attrelid = c.conrelid and a.attnum = k where not a.attnotnull) as columns,
       exists (select from unnest(c.conkey) k join pg_attribute a
         on a.attrelid = c.conrelid and a.attnum = k where not a.attnotnull) as optional,
       c.confdeltype = 'n' as "isEmptied"
     from pg_constraint c join pg_class f on f.oid = c.conrelid join pg_class t on t.oid = c.confrelid
     where c.contype = 'f' and f.relname = any($1) and t.relname = any($1) and f.oid <> t.oid`,
    [tables.map(({ name }) => name)],
  )
  return rows
}

const columnsOf = (references: readonly Reference[]) => [
  ...new Set(references.flatMap(({ columns }) => columns)),
]

/** Orders tables after those that they reference. In a cycle, a nullable reference is set later. */
function inOrder(tables: readonly Described[], references: readonly Reference[]): Staged[] {
  const waiting = new Map(tables.map((table) => [table.name, table]))
  const ordered: Staged[] = []
  const pending = (name: string) =>
    references.filter(({ from, to }) => from === name && waiting.has(to))
  while (waiting.size > 0) {
    const names = [...waiting.keys()].sort()
    const next =
      names.find((name) => pending(name).length === 0) ??
      names.find((name) => pending(name).every(({ optional }) => optional))
    const table = next === undefined ? undefined : waiting.get(next)
    if (!table) throw new Error('the foreign keys of the tables form a cycle')
    const late = columnsOf(pending(table.name))
    const emptied = columnsOf(references.filter((one) => one.from === table.name && one.isEmptied))
    waiting.delete(table.name)
    ordered.push({ ...table, late, emptied })
  }
  return ordered
}
