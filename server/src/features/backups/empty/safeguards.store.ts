/**
 * What a new schema has that rows are loaded without. Forced row-level security refuses COPY even to the
 * owner; triggers and references would be asked row by row; and keys and indexes are made faster, and
 * denser, of all rows at once than of one after the other.
 */
import type pg from 'pg'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Connection } from '../../../platform/db/index.ts'
import { readSchema } from '../../../platform/db/schema-dump.ts'

/** Made from all rows once they are there, and not kept up to date with each. */
const BUILT = `
  select 4 as rank, name, format('drop index %s', indexrelid::regclass) as away,
    replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as back
  from loaded join pg_index on indrelid = loaded.oid
  where not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
  union all
  select 4, name, format('alter table %s drop constraint %I', name, conname),
    format('alter table %s add constraint %I %s', name, conname, pg_get_constraintdef(c.oid))
  from loaded join pg_constraint c on conrelid = loaded.oid where contype in ('p', 'u', 'x')`

/** Also references of tables that are not loaded: the key that they look through goes. */
const HELD = `
  select 1 as rank, name, format('alter table %s no force row level security', name) as away,
    format('alter table %s force row level security', name) as back
  from loaded where is_forced
  union all
  select 2, name, format('alter table %s disable trigger %I', name, tgname),
    format('alter table %s enable trigger %I', name, tgname)
  from loaded join pg_trigger on tgrelid = loaded.oid where not tgisinternal and tgtype & 4 <> 0
  union all
  select 3, conrelid::regclass::text, format('alter table %s drop constraint %I', conrelid::regclass, conname),
    format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
  from pg_constraint where contype = 'f' and conparentid = 0
    and (conrelid in (select oid from loaded) or confrelid in (select oid from loaded))`

/** What was put by, as the statements that bring it back. */
export interface Safeguards {
  /** Keys and indexes. */
  built: readonly string[]
  /** References, which look through keys, then triggers, and forced security at the end. */
  held: readonly string[]
}

/** Puts by what stands in the way of rows, of all these tables. Partitions that are made meanwhile have none of it. */
export async function putBySafeguards(
  client: Connection,
  tables: readonly string[],
): Promise<Safeguards> {
  const { rows } = await client.query<{ rank: number; away: string; back: string }>(
    `with loaded as (
       select oid, oid::regclass::text as name, relforcerowsecurity as is_forced from pg_class
       where relnamespace = 'public'::regnamespace and relname = any($1))
     select rank, away, back from (${BUILT} union all ${HELD}) as safeguards order by rank, name, away`,
    [tables],
  )
  for (const { away } of rows) await client.query(away)
  // The last that went comes first.
  const back = (isBuilt: boolean) =>
    rows
      .filter(({ rank }) => (rank === 4) === isBuilt)
      .map((row) => row.back)
      .toReversed()
  return { built: back(true), held: back(false) }
}

/** @throws StartupError where rows do not fit together, such as two with one key */
export async function putBack(client: Connection, statements: readonly string[]): Promise<void> {
  // An index of a large table is sorted in memory, and not on the disk.
  await client.query(`set local maintenance_work_mem = '128MB'`)
  for (const statement of statements)
    try {
      await client.query(statement)
    } catch (error) {
      const { code, message } = error as pg.DatabaseError
      if (!code?.startsWith('23')) throw error
      throw new StartupError(`What the backup holds does not fit together: ${message}.`)
    }
}

/** @param made the schema as it was before anything was put by */
export async function requireSchema(client: Connection, made: string): Promise<void> {
  const { rows } = await client.query<{ disabled: boolean }>(
    `select exists (select from pg_trigger where not tgisinternal and tgenabled <> 'O') as disabled`,
  )
  if (rows[0]?.disabled || (await readSchema(client)) !== made)
    throw new Error('the load has changed the schema')
}
