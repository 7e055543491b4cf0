/** Brings a database to this release's schema: plain SQL files, up only, once each, one at a time. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type pg from 'pg'
import { StartupError } from '../../lib/startup-error.ts'
import type { Logger } from '../observe/log.ts'
import { type DatabaseAddress, ownerClient } from './connection.ts'
import { LOCKS } from './locks.ts'
import { renumberMovedJournal } from './moved-journal.ts'

const FOLDER = new URL('../../../migrations/', import.meta.url)
const OLDEST_SERVER = 150_000

interface Migration {
  version: number
  name: string
  sql: string
  checksum: string
}

/** The migrations of this release, in order. */
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
 * Applies what is missing, each migration in a transaction of its own, under an advisory lock so
 * that nodes that start together take turns; and before it mends what a move to another cluster has
 * done to the journal. Returns the schema's version.
 * @throws StartupError when the schema is newer than this release, or was changed behind it
 */
export async function migrate(
  address: DatabaseAddress,
  log: Logger,
  migrations?: Migration[],
): Promise<number> {
  const wanted = migrations ?? (await readMigrations())
  const client = ownerClient(address)
  await client.connect()
  try {
    await requireServer(client)
    await client.query('select pg_advisory_lock($1)', [LOCKS.migrations])
    const applied = await readApplied(client)
    refuseForeignSchema(applied, wanted)
    // First, as a migration may set a consumer's position by the numbers of this cluster.
    await renumberMovedJournal(client, log)
    for (const migration of wanted.slice(applied.length)) await apply(client, migration, log)
    return wanted.at(-1)?.version ?? 0
  } finally {
    await client.end()
  }
}

async function requireServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string }>(
    `select current_setting('server_version_num') as version`,
  )
  if (Number(rows[0]?.version) < OLDEST_SERVER)
    throw new StartupError('DATABASE_URL: PostgreSQL 15 or newer is needed; upgrade the server.')
}

type Applied = Pick<Migration, 'version' | 'name' | 'checksum'>

async function readApplied(client: pg.Client): Promise<Applied[]> {
  const { rows } = await client.query<{ present: boolean }>(
    `select to_regclass('public.migrations') is not null as present`,
  )
  if (!rows[0]?.present) {
    await client.query(`create table migrations (
      version integer primary key, name text not null, checksum text not null,
      applied_at timestamptz(3) not null default now())`)
    return []
  }
  const applied = await client.query<Applied>(
    'select version, name, checksum from migrations order by version',
  )
  return applied.rows
}

function refuseForeignSchema(applied: Applied[], wanted: Migration[]): void {
  const newest = applied.at(-1)
  const known = wanted.at(-1)?.version ?? 0
  if (newest && newest.version > known)
    throw new StartupError(
      `The database has schema ${newest.version}, this release knows ${known}: start the newer release of Wardkeep.`,
    )
  for (const [index, done] of applied.entries())
    if (wanted[index]?.checksum !== done.checksum)
      throw new StartupError(
        `Migration ${done.name} was applied with other content than this release has: use the release that made the database.`,
      )
}

async function apply(client: pg.Client, migration: Migration, log: Logger): Promise<void> {
  await client.query('begin')
  try {
    await client.query(migration.sql)
    await client.query('insert into migrations (version, name, checksum) values ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.checksum,
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`migration ${migration.name} failed: ${(error as Error).message}`, {
      cause: error,
    })
  }
  log.info({ migration: migration.name }, 'migrated')
}
