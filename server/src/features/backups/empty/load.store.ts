/**
 * The SQL that fills the empty tables of a new schema with the rows of a backup, in the caller's
 * transaction. Forced row-level security refuses COPY even to the owner, so it is put by meanwhile, and so
 * are foreign keys, triggers that rows set off, and indexes, which are made faster afterwards.
 */
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Connection } from '../../../platform/db/index.ts'
import { readSchema } from '../../../platform/db/schema-dump.ts'
import { COPY_SETTINGS } from '../create/snapshot.store.ts'
import type { BackedUpTable, Header, Manifest } from '../file/format.ts'
import { rowsWithout } from '../file/tenant-rows.ts'

const id = pg.escapeIdentifier

export interface Load {
  /** Adds rows, in COPY's text format; those of a table one after the other. */
  copy(table: string, rows: Buffer): Promise<void>
  /**
   * Makes the tables what they were but for their rows.
   * @throws StartupError unless they hold what the manifest says, each reference leads somewhere, and the
   *   schema is the one that the migrations have made
   * @returns the tenants that were left out, and how many rows they had
   */
  end(manifest: Manifest): Promise<{ tenants: number[]; rows: number }>
}

/**
 * @param header of the backup, whose schema the database has
 * @param purged the tenants whose rows are left out
 */
export async function beginLoad(
  client: Connection,
  header: Header,
  purged: ReadonlySet<number>,
): Promise<Load> {
  const { tables } = header
  await client.query(COPY_SETTINGS)
  const made = await readSchema(client)
  await makePartitions(client, tables)
  const putBy = await putBySafeguards(client, tables)
  const loaded: Record<string, number> = {}
  const left: Record<string, number> = {}
  const tenants = new Set<number>()
  let open: Copy | undefined

  async function close(): Promise<void> {
    if (open) loaded[open.table] = await open.end()
    open = undefined
  }

  return {
    async copy(name, part) {
      const table = tables.find((one) => one.name === name)
      if (!table) throw new StartupError(`The backup does not name the table ${name}.`)
      if (open?.table !== name) {
        await close()
        open = openCopy(client, table)
      }
      const kept = rowsWithout(table, part, purged)
      left[name] = (left[name] ?? 0) + kept.left.length
      for (const tenant of kept.left) tenants.add(tenant)
      if (kept.rows.length > 0) await open?.write(kept.rows)
    },

    async end(manifest) {
      await close()
      for (const [name, { rows }] of Object.entries(manifest.tables))
        if ((loaded[name] ?? 0) + (left[name] ?? 0) !== rows)
          throw new StartupError(`${name} holds ${loaded[name] ?? 0} rows, and the backup ${rows}.`)
      for (const statement of MADE_ANEW) await client.query(statement)
      await putBack(client, putBy)
      await goOnCounting(client, header)
      await requireSchema(client, made)
      const rows = Object.values(left).reduce((sum, count) => sum + count, 0)
      return { tenants: [...tenants].sort((a, b) => a - b), rows }
    },
  }
}

/** What is in no backup and follows from the rest. The engine makes due what was under way. */
const MADE_ANEW = [
  `insert into webhook_queues (webhook_id, tenant_id, due_at)
   select id, tenant_id, (select min(due_at) from webhook_deliveries
     where webhook_id = webhooks.id and status = 'pending') from webhooks`,
  'insert into journal_actions select distinct action from journal',
]

interface Copy {
  readonly table: string
  write(rows: Buffer): Promise<void>
  /** Returns how many rows were added. */
  end(): Promise<number>
}

function openCopy(client: Connection, { name, columns }: BackedUpTable): Copy {
  const listed = columns.map(id).join(', ')
  const stream = client.query(copyFrom(`copy ${id(name)} (${listed}) from stdin`))
  const done = finished(stream)
  // Heard by whoever writes or ends next.
  done.catch(() => undefined)
  return {
    table: name,
    async write(rows) {
      const room = new Promise<void>((resolve) => void stream.write(rows, () => resolve()))
      await Promise.race([room, done])
    },
    async end() {
      stream.end()
      await done
      return stream.rowCount
    },
  }
}

/** Makes the months and days that the rows lie in, which may be long over. */
async function makePartitions(client: Connection, tables: readonly BackedUpTable[]) {
  const partsOf = (name: string) =>
    tables.find((table) => table.name === name)?.partitions?.toSorted() ?? []
  const months = partsOf('journal')
  if (months.length > 0)
    await client.query(
      `select ensure_journal_partitions(greatest(2, max(months)), greatest(0, -min(months)))
       from (select 12 * (left(month, 4)::int - extract(year from today)::int)
           + right(month, 2)::int - extract(month from today)::int as months
         from unnest($1::text[]) month, (values ((now() at time zone 'UTC')::date)) as now (today)) as ahead`,
      [months],
    )
  // Day by day: years may lie between, where the machine was off.
  for (const day of partsOf('webhook_deliveries'))
    await client.query(
      `select ensure_webhook_partitions(to_date($1, 'YYYY_MM_DD'), to_date($1, 'YYYY_MM_DD'))`,
      [day],
    )
}

/** Statements that bring back what was put by. */
async function putBySafeguards(client: Connection, tables: readonly BackedUpTable[]) {
  const names = tables.map(({ name }) => name)
  const { rows } = await client.query<{ away: string; back: string }>(
    `with loaded as (
       select oid, oid::regclass::text as name, relforcerowsecurity as is_forced from pg_class
       where relnamespace = 'public'::regnamespace and relname = any($1::text[] || '{webhook_queues}'::text[]))
     select away, back from (
       select 1 as rank, name, format('alter table %s no force row level security', name) as away,
         format('alter table %s force row level security', name) as back
       from loaded where is_forced
       union all
       select 2, name, format('alter table %s disable trigger %I', name, tgname),
         format('alter table %s enable trigger %I', name, tgname)
       from loaded join pg_trigger on tgrelid = loaded.oid where not tgisinternal and tgtype & 4 <> 0
       union all
       select 3, name, format('alter table %s drop constraint %I', name, conname),
         format('alter table %s add constraint %I %s', name, conname, pg_get_constraintdef(c.oid))
       from loaded join pg_constraint c on conrelid = loaded.oid where contype = 'f'
       union all
       select 4, name, format('drop index %s', indexrelid::regclass),
         replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ')
       from loaded join pg_index on indrelid = loaded.oid
       where not exists (select from pg_constraint where conindid = indexrelid)
     ) as safeguards order by rank, name, away`,
    [names],
  )
  for (const { away } of rows) await client.query(away)
  // What the migrations themselves have written is in the backup, as it has become.
  for (const name of names) await client.query(`delete from ${id(name)}`)
  return rows.map(({ back }) => back)
}

/** The last first: indexes before the references that look through them, forced security at the end. */
async function putBack(client: Connection, statements: readonly string[]): Promise<void> {
  // An index of a large table is sorted in memory, and not on the disk.
  await client.query(`set local maintenance_work_mem = '128MB'`)
  for (const statement of statements.toReversed())
    try {
      await client.query(statement)
    } catch (error) {
      const { code, message } = error as pg.DatabaseError
      if (!code?.startsWith('23')) throw error
      throw new StartupError(`What the backup holds does not fit together: ${message}.`)
    }
}

/**
 * No number that was ever given out names a second record, also of those that were given out behind the
 * backup: a quarter of all, and a million at least, are left out.
 */
async function goOnCounting(client: Connection, { sequences = {} }: Header): Promise<void> {
  const { rows } = await client.query<{ name: string; table: string; column: string }>(
    `select s.relname as name, d.refobjid::regclass::text as table, a.attname as column
     from pg_class s join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid
       and d.deptype in ('i', 'a') and d.refclassid = 'pg_class'::regclass
     join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where s.relkind = 'S' and s.relnamespace = 'public'::regnamespace`,
  )
  for (const { name, table, column } of rows)
    await client.query(
      `select setval($1, last + greatest(1000000, last / 4)) from (
         select greatest($2::bigint, max(${id(column)})) as last from ${table}) as given
       where last is not null`,
      [name, sequences[name] ?? null],
    )
}

async function requireSchema(client: Connection, made: string): Promise<void> {
  const { rows } = await client.query<{ disabled: boolean }>(
    `select exists (select from pg_trigger where not tgisinternal and tgenabled <> 'O') as disabled`,
  )
  if (rows[0]?.disabled || (await readSchema(client)) !== made)
    throw new Error('the load has changed the schema')
}

/** Makes the database the backup's installation, moved: what goes out by itself is held. */
export async function beInstallation(client: Connection, installation: string): Promise<void> {
  await client.query('update installation set id = $1, outbound_held_at = now()', [installation])
}

/** Whether somebody may sign in who can operate the platform, for the role that sees all. */
export async function hasOperator(client: Connection): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select exists (select from users join tenants on tenants.id = users.tenant_id
       where users.role = 'superadmin' and users.is_active and tenants.is_active
         and tenants.deleted_at is null) as found`,
  )
  return rows[0]?.found === true
}
