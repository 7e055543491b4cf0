/**
 * What a new schema has that rows are loaded without. Forced row-level security refuses COPY even to the
 * owner; triggers and references would be asked row by row; and keys and indexes are made faster, and
 * denser, of all rows at once than of one after the other.
 */
import type pg from 'pg'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Connection } from '../../../platform/db/index.ts'
import { readSchema } from '../../../platform/db/schema-dump.ts'

const LOADED = `
  loaded as (
    select oid, oid::regclass::text as name, relforcerowsecurity as is_forced from pg_class
    where relnamespace = 'public'::regnamespace and relname = any($1))`

/** Made from all rows once they are there, and not kept up to date with each. */
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
 * Also references of tables that are not loaded: the key that they look through goes. A trigger that is only
 * disabled would still have each new row kept for it, where it looks at a statement's rows.
 */
const HELD = `
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

/** A key or an index. */
interface Built {
  table: string
  kind: 'index' | 'unique index' | 'constraint'
  name: string
  rest: string
}

/** What was put by. */
export interface Safeguards {
  built: readonly Built[]
  /** The statements that bring back references, which look through keys, then triggers, and forced security at the end. */
  held: readonly string[]
}

/** Puts by what stands in the way of rows, of all these tables. Partitions that are made meanwhile have none of it. */
export async function putBySafeguards(
  client: Connection,
  tables: readonly string[],
): Promise<Safeguards> {
  const { rows: held } = await client.query<{ away: string; back: string }>(HELD, [tables])
  const { rows: built } = await client.query<Built>(BUILT, [tables])
  for (const { away } of held) await client.query(away)
  for (const { table, kind, name } of built)
    await client.query(
      kind === 'constraint' ? `alter table ${table} drop constraint ${name}` : `drop index ${name}`,
    )
  // The last that went comes first.
  return { built, held: held.map(({ back }) => back).toReversed() }
}

/**
 * Makes keys and indexes of the rows that are there. A partition gets its own before its parent, which takes
 * them in: so each is made while the partition's rows are still in memory.
 * @throws StartupError where rows do not fit together, such as two with one key
 */
export async function build(client: Connection, built: readonly Built[]): Promise<void> {
  // An index of a large table is sorted in memory, and not on the disk.
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

/** Without a name PostgreSQL gives the one that it would give to what it makes by itself for a partition. */
function statementFor(table: string, kind: Built['kind'], rest: string, name?: string): string {
  if (kind !== 'constraint') return `create ${kind} ${name ?? ''} on ${table} ${rest}`
  return `alter table ${table} add ${name ? `constraint ${name}` : ''} ${rest}`
}

/** @throws StartupError where rows do not fit together, such as a reference that leads nowhere */
export async function putBack(client: Connection, statements: readonly string[]): Promise<void> {
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
  if ((await readSchema(client)) !== made) throw new Error('the load has changed the schema')
}
