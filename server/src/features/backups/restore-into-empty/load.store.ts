/**
 * The SQL that fills the empty tables of a new schema with the rows of a backup, in the caller's
 * transaction. What stands in the way of rows is put by meanwhile.
 */
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Connection } from '../../../platform/db/index.ts'
import { renumberLoadedJournal } from '../../../platform/db/moved-journal.ts'
import { readSchema } from '../../../platform/db/schema-dump.ts'
import { COPY_SETTINGS } from '../create/snapshot.store.ts'
import type { BackedUpTable, Header, Manifest } from '../file/format.ts'
import { rowsWithout } from '../file/tenant-rows.ts'
import { WEBHOOK_QUEUES } from '../made-anew.ts'
import { build, putBack, putBySafeguards, requireSchema } from './safeguards.store.ts'

const id = pg.escapeIdentifier
/** What the server reads of COPY's rows at once: a longer message is moved once more on its way there. */
const MESSAGE_BYTES = 64 * 1024

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
  const names = tables.map(({ name }) => name)
  const safeguards = await putBySafeguards(client, [...names, 'webhook_queues'])
  // What the migrations themselves have written is in the backup, as it has become.
  for (const name of names) await client.query(`delete from ${id(name)}`)
  await makePartitions(client, tables)
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
      await renumberLoadedJournal(client)
      await build(client, safeguards.built)
      for (const statement of MADE_ANEW) await client.query(statement)
      await putBack(client, safeguards.held)
      await goOnCounting(client, header)
      await requireSchema(client, made)
      const rows = Object.values(left).reduce((sum, count) => sum + count, 0)
      return { tenants: [...tenants].sort((a, b) => a - b), rows }
    },
  }
}

/**
 * What is in no backup and follows from the rest. The actions are found one behind the other in their index:
 * there are a hundred of them, and millions of entries.
 */
const MADE_ANEW = [
  WEBHOOK_QUEUES,
  `with recursive found as (
     (select action from journal order by action limit 1) union all
     select (select action from journal where action > found.action order by action limit 1)
     from found where found.action is not null)
   insert into journal_actions select action from found where action is not null`,
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
  let sending = Promise.resolve()
  // Heard by whoever writes or ends next.
  const heardLater = () => undefined
  done.catch(heardLater)
  return {
    table: name,
    // Some rows are on their way while the next are read; the database says what is wrong with them.
    async write(rows) {
      await sending
      const room = new Promise<void>((resolve) => {
        for (let from = 0; from < rows.length; from += MESSAGE_BYTES) {
          const isLast = from + MESSAGE_BYTES >= rows.length
          const message = rows.subarray(from, from + MESSAGE_BYTES)
          stream.write(message, isLast ? (error) => resolve(error ? done : undefined) : undefined)
        }
      })
      sending = Promise.race([room, done])
      sending.catch(heardLater)
    },
    async end() {
      await sending
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
