/**
 * The SQL that loads the rows of a backup into the empty tables of a new schema, in the caller's transaction.
 * Constraints and triggers are dropped during the load and then restored.
 */
import { finished } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { StartupError } from '../../../lib/startup-error.ts'
import type { PgConnection } from '../../../platform/db/index.ts'
import { renumberLoadedJournal } from '../../../platform/schema/moved-journal.ts'
import { readSchema } from '../../../platform/schema/schema-dump.ts'
import { COPY_SETTINGS } from '../create/snapshot.store.ts'
import type { BackedUpTable, Header, Manifest } from '../file/format.ts'
import { rowsWithout } from '../file/tenant-rows.ts'
import { build, dropConstraints, putBack, requireRestoredSchema } from './safeguards.store.ts'

const id = pg.escapeIdentifier
/** The size of a COPY message. For a larger message, the server makes an additional copy. */
const MESSAGE_BYTES = 64 * 1024

export interface Load {
  /** Adds rows in COPY's text format. All rows of one table must be passed before the rows of the next. */
  copy(table: string, rows: Buffer): Promise<void>
  /**
   * Finishes the load: restores the constraints, indexes and triggers of the tables.
   * @throws StartupError if the row counts differ from the manifest or a reference is broken; Error if the restored
   * schema differs from the original one
   * @returns the tenants that were left out, and the number of their rows
   */
  end(manifest: Manifest): Promise<{ tenants: number[]; rows: number }>
}

/**
 * Begins loading rows. Drops the constraints of the tables and deletes rows that migrations inserted.
 * @param header the header of the backup; the database must have the same schema
 * @param purged the tenants whose rows are left out
 */
export async function beginLoad(
  client: PgConnection,
  header: Header,
  purged: ReadonlySet<number>,
): Promise<Load> {
  const { tables } = header
  await client.query(COPY_SETTINGS)
  const made = await readSchema(client)
  const names = tables.map(({ name }) => name)
  const safeguards = await dropConstraints(client, [...names, 'webhook_queues'])
  // Deletes the rows that migrations inserted, because the backup contains these rows in their later state.
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
      if (!table) throw new StartupError(`The backup does not contain the table ${name}.`)
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
          throw new StartupError(
            `${name} has ${loaded[name] ?? 0} rows after the restore, but the backup has ${rows}.`,
          )
      await renumberLoadedJournal(client)
      await build(client, safeguards.built)
      for (const statement of DERIVED_ROWS) await client.query(statement)
      await putBack(client, safeguards.restoring)
      await advanceSequences(client, header)
      await requireRestoredSchema(client, made)
      const rows = Object.values(left).reduce((sum, count) => sum + count, 0)
      return { tenants: [...tenants].sort((a, b) => a - b), rows }
    },
  }
}

/** Inserts a queue for each webhook without one. The webhook engine reschedules interrupted deliveries. */
export const WEBHOOK_QUEUES = `
  insert into webhook_queues (webhook_id, tenant_id, due_at)
  select id, tenant_id, (select min(due_at) from webhook_deliveries
    where webhook_id = webhooks.id and status = 'pending')
  from webhooks where not exists (select from webhook_queues queue where queue.webhook_id = webhooks.id)`

/**
 * Inserts rows that are not backed up because they are derived from other rows. The recursive query reads one index
 * entry per distinct action. There are only about a hundred actions in millions of journal entries.
 */
const DERIVED_ROWS = [
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
  /** Ends the COPY. Returns how many rows were added. */
  end(): Promise<number>
}

function openCopy(client: PgConnection, { name, columns }: BackedUpTable): Copy {
  const listed = columns.map(id).join(', ')
  const stream = client.query(copyFrom(`copy ${id(name)} (${listed}) from stdin`))
  const done = finished(stream)
  let sending = Promise.resolve()
  // Prevents unhandled rejections. The next write or the end throws the error.
  const handledLater = () => undefined
  done.catch(handledLater)
  return {
    table: name,
    // Resolves before the rows are sent, so that the caller can read the next ones. The database validates the rows.
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
      sending.catch(handledLater)
    },
    async end() {
      await sending
      stream.end()
      await done
      return stream.rowCount
    },
  }
}

/** Creates the monthly and daily partitions that the rows need. Some may be for dates long ago. */
async function makePartitions(client: PgConnection, tables: readonly BackedUpTable[]) {
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
  // Creates each day separately, because the days may be years apart if the service was stopped for that long.
  for (const day of partsOf('webhook_deliveries'))
    await client.query(
      `select ensure_webhook_partitions(to_date($1, 'YYYY_MM_DD'), to_date($1, 'YYYY_MM_DD'))`,
      [day],
    )
}

/**
 * Advances the sequences beyond all ids that may have been used, even after the backup, so that no id is used twice.
 * The margin is a quarter of the last value, but at least a million.
 */
async function advanceSequences(client: PgConnection, { sequences = {} }: Header): Promise<void> {
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

/** Sets the installation id of the backup, and pauses outgoing messages. */
export async function adoptInstallationId(
  client: PgConnection,
  installation: string,
): Promise<void> {
  await client.query('update installation set id = $1, outbound_held_at = now()', [installation])
}

/** Returns true if a superadmin can sign in. The connection must use the role that sees all rows. */
export async function hasOperator(client: PgConnection): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select exists (select from users join tenants on tenants.id = users.tenant_id
       where users.role = 'superadmin' and users.is_active and tenants.is_active
         and tenants.deleted_at is null) as found`,
  )
  return rows[0]?.found === true
}
