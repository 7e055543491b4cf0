/**
 * Migrates a database to the schema of this release. Migrations are SQL files, each of which is applied once, in order.
 * There are no downgrades.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import { StartupError } from '../../lib/startup-error.ts'
import { systemTime, type Time } from '../../lib/time.ts'
import { type DatabaseAddress, ownerClient } from '../db/connection.ts'
import { LOCKS } from '../db/lock-numbers.ts'
import type { Logger } from '../observe/log.ts'
import { lockMigrations } from './migration-lock.ts'
import { renumberMovedJournal } from './moved-journal.ts'

const FOLDER = new URL('../../../migrations/', import.meta.url)
const OLDEST_SERVER = 150_000

export interface Migration {
  version: number
  name: string
  sql: string
  checksum: string
}

/** Reads the migrations of this release, in order. */
export async function readMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_.*\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      const checksum = createHash('sha256').update(sql).digest('hex')
      return { version: Number(name.slice(0, 4)), name, sql, checksum }
    }),
  )
}

/**
 * Applies the missing migrations, each in its own transaction. An advisory lock ensures that only one node migrates at
 * a time. If the database was moved from another cluster, first renumbers the journal. Returns the version of the
 * schema.
 * @throws StartupError if the schema is newer than this release, or if the content of an applied migration was
 * different
 */
export async function migrate(
  address: DatabaseAddress,
  log: Logger,
  migrations?: Migration[],
  clock: Pick<Time, 'every'> = systemTime,
): Promise<number> {
  const wanted = migrations ?? (await readMigrations())
  const client = ownerClient(address)
  await client.connect()
  try {
    await requireServer(client)
    await lockMigrations(client, address, { log, clock })
    const applied = await readApplied(client)
    refuseForeignSchema(applied, wanted)
    // Runs before the migrations, because they may set a consumer's position to a transaction id of this cluster.
    await renumberMovedJournal(client, log)
    for (const migration of wanted.slice(applied.length)) await apply(client, migration, log)
    return wanted.at(-1)?.version ?? 0
  } finally {
    await client.end()
  }
}

/**
 * Checks that the schema is that of this release. Changes nothing. For programs that must not migrate the database of a
 * running older release.
 * @throws StartupError if the schema is not that of this release
 */
export async function requireMigrated(address: DatabaseAddress): Promise<void> {
  const wanted = await readMigrations()
  const client = ownerClient(address)
  await client.connect()
  try {
    await requireServer(client)
    const applied = await findApplied(client)
    refuseForeignSchema(applied, wanted)
    const [is, known] = [applied, wanted].map((list) => list.at(-1)?.version ?? 0)
    if (is !== known)
      throw new StartupError(
        `The database has schema version ${is}, but this release requires ${known}. Use the release that last ran on the database, or start the service with this release first.`,
      )
  } finally {
    await client.end()
  }
}

/** Checks that the tables exist, without creating them. @throws StartupError if no release has created them */
export async function requireSchemaThere(address: DatabaseAddress): Promise<void> {
  const client = ownerClient(address)
  await client.connect()
  try {
    if ((await findApplied(client)).length === 0)
      throw new StartupError(
        'The database has no Wardkeep tables. Set the same DATA_DIR or DATABASE_URL as for the service, or run `wardkeep migrate` to create the tables.',
      )
  } finally {
    await client.end()
  }
}

/**
 * Applies the migrations to an empty database, in the caller's transaction. Other nodes that start on the database wait
 * until the transaction ends.
 * @throws StartupError if the database is not empty
 */
export async function makeSchema(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<void> {
  await requireServer(client)
  await client.query('select pg_advisory_xact_lock($1)', [LOCKS.migrations])
  await requireEmpty(client)
  await readApplied(client)
  for (const migration of migrations) await run(client, migration)
}

async function requireEmpty(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and not exists (
       select from pg_depend d
       where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
     order by c.oid limit 1`,
  )
  if (rows[0])
    throw new StartupError(
      `The database is not empty, because it contains ${rows[0].name}. Restore into a new DATA_DIR, or into a new database with DATABASE_URL.`,
    )
}

async function requireServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string }>(
    `select current_setting('server_version_num') as version`,
  )
  if (Number(rows[0]?.version) < OLDEST_SERVER)
    throw new StartupError('DATABASE_URL: PostgreSQL 15 or newer is required. Upgrade the server.')
}

type Applied = Pick<Migration, 'version' | 'name' | 'checksum'>

/** Like `findApplied`, but creates the table `migrations` if it does not exist. */
async function readApplied(client: pg.Client): Promise<Applied[]> {
  const applied = await findApplied(client)
  if (applied.length === 0)
    await client.query(`create table if not exists migrations (
      version integer primary key, name text not null, checksum text not null,
      applied_at timestamptz(3) not null default now())`)
  return applied
}

async function findApplied(client: pg.Client): Promise<Applied[]> {
  const { rows } = await client.query<{ present: boolean }>(
    `select to_regclass('public.migrations') is not null as present`,
  )
  if (!rows[0]?.present) return []
  const applied = await client.query<Applied>(
    'select version, name, checksum from migrations order by version',
  )
  return applied.rows
}

function refuseForeignSchema(applied: Applied[], wanted: Migration[]): void {
  const newest = applied.at(-1)
  const known = wanted.at(-1)?.version ?? 0
  for (const [index, done] of applied.slice(0, known).entries())
    if (wanted[index]?.checksum !== done.checksum)
      throw new StartupError(
        `Migration ${done.name} of the database differs from the migration of this name in this release. Use the release that created the database.`,
      )
  if (newest && newest.version > known)
    throw new StartupError(
      `The database has schema version ${newest.version}, but this release only supports up to ${known}. Start the newer release of Wardkeep.`,
    )
}

async function apply(client: pg.Client, migration: Migration, log: Logger): Promise<void> {
  await client.query('begin')
  try {
    await run(client, migration)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
  log.info({ migration: migration.name }, 'migration applied')
}

async function run(client: pg.Client, { version, name, sql, checksum }: Migration): Promise<void> {
  try {
    await client.query(sql)
    await client.query('insert into migrations (version, name, checksum) values ($1, $2, $3)', [
      version,
      name,
      checksum,
    ])
  } catch (error) {
    throw new Error(`migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}
