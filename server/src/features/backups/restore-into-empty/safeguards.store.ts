/**
 * Drops the parts of a new schema that block or slow down loading, and restores them afterwards. Forced row-level
 * security blocks COPY even for the owner. Triggers and references would run for each row. Keys and indexes are built
 * faster, and are more compact, after all rows are loaded.
 */
import type pg from 'pg'
import { StartupError } from '../../../lib/startup-error.ts'
import type { PgConnection } from '../../../platform/db/index.ts'
import { readSchema } from '../../../platform/schema/schema-dump.ts'

const LOADED = `
  loaded as (
    select oid, oid::regclass::text as name, relforcerowsecurity as is_forced from pg_class
    where relnamespace = 'public'::regnamespace and relname = any($1))`

/** Selects the keys and indexes, which are built after all rows are loaded. */
const BUILT = `
  with ${LOADED}
  select loaded.name as "table", case when indisunique then 'unique index' else 'index' end as kind,
    indexrelid::regclass::text as name, substring(pg_get_indexdef(indexrelid) from ' USING .*') as rest
  from loaded join pg_index on indrelid = loaded.oid
  where not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
  union all
  select loaded.name, 'constraint', quote_ident(conname), pg_get_constraintdef(c.oid)
  from loaded join pg_constraint c on conrelid = loaded.oid where contype in ('p', 'u', 'x')
  order by 1, 2, 3`

/**
 * Selects forced row-level security, triggers and references, including references from other tables to a dropped key.
 * Triggers are dropped, not disabled, because a disabled trigger with transition tables would still collect every new
 * row.
 */
const DROPPED = `
  with ${LOADED}
  select 1 as rank, name, format('alter table %s no force row level security', name) as away,
    format('alter table %s force row level security', name) as back
  from loaded where is_forced
  union all
  select 2, name, format('drop trigger %I on %s', tgname, name), pg_get_triggerdef(pg_trigger.oid)
  from loaded join pg_trigger on tgrelid = loaded.oid where not tgisinternal and tgtype & 4 <> 0
  union all
  select 3, conrelid::regclass::text, format('alter table %s drop constraint %I', conrelid::regclass, conname),
    format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
  from pg_constraint where contype = 'f' and conparentid = 0
    and (conrelid in (select oid from loaded) or confrelid in (select oid from loaded))
  order by rank, name, away`

interface Built {
  table: string
  kind: 'index' | 'unique index' | 'constraint'
  name: string
  rest: string
}

/** The dropped parts of a schema, with what is needed to restore them. */
export interface Safeguards {
  built: readonly Built[]
  /**
   * The statements that restore references, then triggers, then forced row-level security. References need the keys,
   * which are restored before.
   */
  restoring: readonly string[]
}

/** Drops the constraints, indexes, triggers and forced row-level security, so new partitions have none either. */
export async function dropConstraints(
  client: PgConnection,
  tables: readonly string[],
): Promise<Safeguards> {
  const { rows: dropped } = await client.query<{ away: string; back: string }>(DROPPED, [tables])
  const { rows: built } = await client.query<Built>(BUILT, [tables])
  for (const { away } of dropped) await client.query(away)
  for (const { table, kind, name } of built)
    await client.query(
      kind === 'constraint' ? `alter table ${table} drop constraint ${name}` : `drop index ${name}`,
    )
  // Reverses the order of removal for the restore.
  return { built, restoring: dropped.map(({ back }) => back).toReversed() }
}

/**
 * Builds keys and indexes from the loaded rows. Builds the indexes of each partition first, while its rows are in
 * memory. The parent table then takes them over.
 * @throws StartupError if rows conflict, for example two rows with the same key
 */
export async function build(client: PgConnection, built: readonly Built[]): Promise<void> {
  // Makes enough memory available to sort the index of a large table in memory instead of on disk.
  await client.query(`set local maintenance_work_mem = '128MB'`)
  for (const [table, own] of Map.groupBy(built, (one) => one.table)) {
    const { rows: partitions } = await client.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass
       order by inhrelid::regclass::text`,
      [table],
    )
    for (const { name } of partitions)
      await putBack(
        client,
        own.map(({ kind, rest }) => statementFor(name, kind, rest)),
      )
    await putBack(
      client,
      own.map(({ kind, rest, name }) => statementFor(table, kind, rest, name)),
    )
  }
}

/** Returns the statement that creates a key or an index. PostgreSQL generates the name if there is none. */
function statementFor(table: string, kind: Built['kind'], rest: string, name?: string): string {
  if (kind !== 'constraint') return `create ${kind} ${name ?? ''} on ${table} ${rest}`
  return `alter table ${table} add ${name ? `constraint ${name}` : ''} ${rest}`
}

/** Runs the statements. @throws StartupError if rows are inconsistent, for example because of a broken reference */
export async function putBack(client: PgConnection, statements: readonly string[]): Promise<void> {
  for (const statement of statements)
    try {
      await client.query(statement)
    } catch (error) {
      const { code, message } = error as pg.DatabaseError
      if (!code?.startsWith('23')) throw error
      throw new StartupError(`The data of the backup is inconsistent: ${message}.`)
    }
}

/** @param made the schema as read before anything was dropped @throws Error if the current schema differs */
export async function requireRestoredSchema(client: PgConnection, made: string): Promise<void> {
  if ((await readSchema(client)) !== made) throw new Error('loading the data changed the schema')
}
