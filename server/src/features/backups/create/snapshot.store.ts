/** The SQL that reads all tables of a backup as of one instant, each as a stream of rows. */
import { sql } from 'kysely'
import pg from 'pg'
import {
  APP_ROLE,
  copyOut,
  type PgConnection,
  PLATFORM_ROLE,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { BackedUpTable, Header } from '../file/format.ts'

/** How long to wait for a table lock before the backup is retried later. A migration may hold the lock. */
const LOCK_TIMEOUT = '10s'

/** Fixes the text formats of COPY, so that they do not depend on the settings of the server or the database. */
export const COPY_SETTINGS = `set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
  set local bytea_output = 'hex'; set local extra_float_digits = 1`

export interface Snapshot {
  /** The time of the snapshot, in ISO 8601. */
  readonly at: string
  readonly installation: string
  readonly schema: Pick<Header, 'schema_version' | 'migrations'>
  readonly keys: Header['keys']
  readonly tables: readonly BackedUpTable[]
  readonly sequences: Header['sequences']
  /** The row count estimated by the planner, and the bytes on disk without indexes. */
  readonly estimate: { rows: number; bytes: number }
  /** The process id of the snapshot's connection, used to check whether it blocks other connections. */
  readonly pid: number
  /** Streams the rows of a table in COPY's text format. */
  rows(table: string): AsyncIterable<Uint8Array>
  /** Ends the transaction, which releases the locks on the tables. */
  release(): Promise<void>
}

/**
 * Takes a snapshot by starting a transaction on the connection. A backup of one tenant runs in that tenant's scope, so
 * row-level security limits its rows.
 * @param names the names of the tables
 * @param snapshotName the snapshot of another open transaction; a new snapshot by default
 */
export async function takeSnapshot(
  client: PgConnection,
  names: readonly string[],
  tenantId: number | null,
  snapshotName?: string,
): Promise<Snapshot> {
  const wanted = await describe(client, names, tenantId)
  await client.query(`begin isolation level repeatable read read only;
    set local lock_timeout = '${LOCK_TIMEOUT}'; ${COPY_SETTINGS}`)
  // Locks the tables before taking the snapshot, because a snapshot does not prevent a table from being dropped.
  await client.query(`lock table ${wanted.map(quoted).join(', ')} in access share mode`)
  if (snapshotName !== undefined)
    await client.query(`set transaction snapshot ${pg.escapeLiteral(snapshotName)}`)
  const tables = await describe(client, names, tenantId)
  const schema = await schemaOf(client)
  const installation = await installationOf(client)
  const sequences = tenantId === null ? await sequencesOf(client) : undefined
  await client.query(
    tenantId === null
      ? `set local role ${PLATFORM_ROLE}`
      : `set local role ${APP_ROLE}; set local wardkeep.tenant_id = '${Number(tenantId)}'`,
  )
  const { rows } = await client.query<{ at: string; pid: number }>(
    `select to_json(now() at time zone 'utc') #>> '{}' as at, pg_backend_pid() as pid`,
  )
  const [first] = rows
  if (!first) throw new Error('the database did not return its time')
  return {
    at: new Date(`${first.at}Z`).toISOString(),
    installation,
    schema,
    keys: await keysOf(client),
    tables: tables.map(({ name, columns, partitions }) => ({
      name,
      columns,
      ...(partitions.length > 0 ? { partitions } : {}),
    })),
    sequences,
    estimate: {
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      bytes: tables.reduce((sum, { bytes }) => sum + Number(bytes), 0),
    },
    pid: first.pid,
    rows(table) {
      const found = tables.find(({ name }) => name === table)
      if (!found) throw new Error(`the snapshot has no table ${table}`)
      const columns = found.columns.map((column) => pg.escapeIdentifier(column)).join(', ')
      return copyOut(client, `copy (select ${columns} from ${quoted(found)}) to stdout`)
    },
    async release() {
      await client.query('commit')
    },
  }
}

interface Described extends BackedUpTable {
  partitions: string[]
  rows: number
  bytes: string
}

const quoted = ({ name }: { name: string }) => pg.escapeIdentifier(name)

/**
 * Returns the tables with their columns and sizes. For a tenant, returns only the tables that have a tenant policy, and
 * the table of key-encryption keys.
 */
async function describe(
  client: PgConnection,
  names: readonly string[],
  tenantId: number | null,
): Promise<Described[]> {
  const { rows } = await client.query<Described>(
    `select c.relname as name,
       array(select a.attname::text from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         order by a.attnum) as columns,
       array(select substring(p.relname from '[0-9]{4}_[0-9]{2}(?:_[0-9]{2})?$')
         from pg_inherits i join pg_class p on p.oid = i.inhrelid
         where i.inhparent = c.oid order by p.relname) as partitions,
       size.rows, size.bytes
     from pg_class c cross join lateral (
       select coalesce(sum(greatest(leaf.reltuples, 0)), 0)::float8 as rows,
         coalesce(sum(pg_table_size(leaf.oid)), 0) as bytes
       from pg_partition_tree(c.oid) tree join pg_class leaf on leaf.oid = tree.relid
       where tree.isleaf) as size
     where c.relnamespace = 'public'::regnamespace and c.relname = any($1)
       and ($2 or c.relname = 'key_encryption_keys' or exists (
         select from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant'))
     order by c.relname`,
    [names, tenantId === null],
  )
  return rows
}

export async function schemaOf(client: PgConnection): Promise<Snapshot['schema']> {
  const { rows } = await client.query<{ version: number; checksum: string }>(
    'select version, checksum from migrations order by version',
  )
  return { schema_version: rows.at(-1)?.version ?? 0, migrations: rows }
}

/** Returns the installation id of the database. @throws Error if the database has none */
export async function installationOf(client: PgConnection): Promise<string> {
  const { rows } = await client.query<{ id: string }>('select id from installation')
  if (!rows[0]) throw new Error('the database has no installation id')
  return rows[0].id
}

/** Returns the last value of each sequence. Sequences ignore snapshots, so no id in the snapshot is higher. */
async function sequencesOf(client: PgConnection): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; last: string | null }>(
    `select relname as name, pg_sequence_last_value(seqrelid) as last
     from pg_sequence join pg_class on oid = seqrelid where relnamespace = 'public'::regnamespace`,
  )
  return Object.fromEntries(
    rows.flatMap(({ name, last }) => (last === null ? [] : [[name, Number(last)]])),
  )
}

async function keysOf(client: PgConnection): Promise<Header['keys']> {
  const { rows } = await client.query<{ kind: string; id: string }>(
    `select 'kek' as kind, id from key_encryption_keys union all
     select 'data' as kind, id from data_keys order by kind, id`,
  )
  const of = (wanted: string) =>
    rows.filter(({ kind }) => kind === wanted).map(({ id }) => Number(id))
  return { key_encryption_keys: of('kek'), data_keys: of('data') }
}

/**
 * Returns true if a request for an exclusive table lock waits for the snapshot's connection. All later requests for the
 * table would have to wait too.
 */
export async function holdsUpOthers(tx: TenantTx, pid: number): Promise<boolean> {
  const { rows } = await sql<{ waits: boolean }>`
    select exists (select from pg_locks l where not l.granted and l.relation is not null
      and l.mode = 'AccessExclusiveLock' and ${pid}::int = any(pg_blocking_pids(l.pid))) as waits`.execute(
    tx.db,
  )
  return rows[0]?.waits === true
}
