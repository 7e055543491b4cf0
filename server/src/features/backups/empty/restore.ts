/**
 * Restores a backup of everything into an empty database: the schema of that day and its rows in one
 * transaction, which ends once the file's last byte has proven them; then today's migrations, as they
 * would run on an older database. A copy that came to be so speaks to nobody until it is told to.
 */
import { StartupError } from '../../../lib/startup-error.ts'
import { type DatabaseAddress, ownerClient, PLATFORM_ROLE } from '../../../platform/db/index.ts'
import {
  type Migration,
  makeSchema,
  migrate,
  readMigrations,
} from '../../../platform/db/migrate.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Header } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import { readBackup } from '../file/read.ts'
import * as store from './load.store.ts'

export interface RestoreDeps {
  address: DatabaseAddress
  keeper: Keeper
  log: Logger
  /** Those of this release, unless a test has others. */
  migrations?: Migration[]
}

/** What has come back. */
export interface Restored {
  header: Header
  records: number
}

/**
 * @param file its bytes
 * @throws StartupError that says why not; the database is then as empty as before
 */
export async function restoreIntoEmpty(
  file: AsyncIterable<Uint8Array>,
  deps: RestoreDeps,
): Promise<Restored> {
  const migrations = deps.migrations ?? (await readMigrations())
  const restored = await load(file, { ...deps, migrations })
  await migrate(deps.address, deps.log, migrations)
  return restored
}

async function load(
  file: AsyncIterable<Uint8Array>,
  { address, keeper, migrations }: RestoreDeps & { migrations: Migration[] },
): Promise<Restored> {
  const client = ownerClient(address)
  // What it lost is told by the query that runs.
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('begin')
    let loading: store.Load | undefined
    const { header, manifest } = await readBackup(file, keeper, {
      async header(read) {
        await makeSchema(client, migrationsOf(read, migrations))
        loading = await store.beginLoad(client, read)
      },
      rows: (table, rows) => loading?.copy(table, rows),
    })
    if (!loading) throw new Error('the backup has no header')
    await loading.end(manifest)
    await client.query(`set local role ${PLATFORM_ROLE}`)
    if (!(await store.hasOperator(client)))
      throw new StartupError('The backup has no superadmin who could sign in.')
    await client.query('reset role')
    await store.beInstallation(client, header.installation)
    await client.query('commit')
    const records = Object.values(manifest.tables).reduce((sum, { rows }) => sum + rows, 0)
    return { header, records }
  } catch (error) {
    if (error instanceof UnreadableFile)
      throw new StartupError(`The backup can not be restored: ${error.message}.`)
    throw error
  } finally {
    // What is not committed goes with it.
    await client.end()
  }
}

/** @throws StartupError unless this release has the migrations that made the backup's schema */
function migrationsOf(header: Header, ours: readonly Migration[]): readonly Migration[] {
  if (header.type !== 'full')
    throw new StartupError(
      'The backup is of one clinic; an empty database takes a backup of everything.',
    )
  const known = ours.at(-1)?.version ?? 0
  if (header.schema_version > known)
    throw new StartupError(
      `The backup has schema ${header.schema_version}, this release knows ${known}: restore it with the newer release of Wardkeep.`,
    )
  const theirs = ours.filter(({ version }) => version <= header.schema_version)
  const isSame =
    theirs.length === header.migrations.length &&
    header.migrations.every(
      ({ version, checksum }, index) =>
        theirs[index]?.version === version && theirs[index]?.checksum === checksum,
    )
  if (!isSame)
    throw new StartupError(
      'The backup was made by a release with other migrations than this one: restore it with that release.',
    )
  return theirs
}
