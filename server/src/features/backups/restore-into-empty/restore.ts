/**
 * Restores a full backup into an empty database. A single transaction creates the schema of the backup and loads its
 * rows. It commits only after the whole file is verified. Then newer migrations run, as on any older database. The
 * restored copy sends no outgoing messages until an operator releases them.
 */
import { StartupError } from '../../../lib/startup-error.ts'
import { type DatabaseAddress, ownerClient, PLATFORM_ROLE } from '../../../platform/db/index.ts'
import type { PurgedRecords } from '../../../platform/feature/restore-rule.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import {
  type Migration,
  makeSchema,
  migrate,
  readMigrations,
} from '../../../platform/schema/migrate.ts'
import { enterNotes } from '../erase/erase.store.ts'
import { type Note, purgedOf } from '../erase/purge-notes.ts'
import { deleteNoted, enterRecords, type RecordNotes } from '../erase/purged-records.store.ts'
import { UnreadableFile } from '../file/age.ts'
import { type Header, recordsOf } from '../file/format.ts'
import type { BackupKeys } from '../file/identity.ts'
import { readBackup } from '../file/read.ts'
import * as store from './load.store.ts'

export interface EmptyRestoreDeps {
  address: DatabaseAddress
  backupKeys: BackupKeys
  log: Logger
  /** The notes of purged tenants, read from the available stores. */
  notes: readonly Note[]
  /** The notes of individually purged records, such as patients. */
  recordNotes: readonly RecordNotes[]
  purgedRecords: readonly PurgedRecords[]
  /** True to accept a backup of a single tenant. For callers that only read the rows from the restored database. */
  takesClinics?: boolean
  /** The migrations of this release. Tests may pass others. */
  migrations?: Migration[]
}

/** Thrown when this release lacks migrations of the backup's release. Only that release can restore the backup. */
export class OtherReleaseError extends StartupError {}

export interface Restored {
  header: Header
  records: number
  /** The tenants in the backup that were not restored because they were purged. */
  purged: number[]
  /** The number of records, by table, that were not restored because they were purged. */
  purged_records: Record<string, number>
}

/** Restores a backup into an empty database and migrates it. @throws StartupError; the database then stays empty */
export async function restoreIntoEmpty(
  file: AsyncIterable<Uint8Array>,
  deps: EmptyRestoreDeps,
): Promise<Restored> {
  const migrations = deps.migrations ?? (await readMigrations())
  const restored = await load(file, { ...deps, migrations })
  await migrate(deps.address, deps.log, migrations)
  await enterOwnRecords(deps, restored.header)
  return restored
}

/**
 * Registers the purged records. Their rows are already deleted, so a crash before this step restores no purged record.
 */
async function enterOwnRecords(
  { address, recordNotes, purgedRecords }: EmptyRestoreDeps,
  { installation }: Header,
): Promise<void> {
  const own = recordNotes.filter((note) => note.installation === installation)
  const client = ownerClient(address)
  await client.connect()
  try {
    await enterRecords(client, purgedRecords, own)
  } finally {
    await client.end()
  }
}

async function load(
  file: AsyncIterable<Uint8Array>,
  {
    address,
    backupKeys,
    migrations,
    notes,
    recordNotes,
    purgedRecords,
    takesClinics = false,
  }: EmptyRestoreDeps & { migrations: Migration[] },
): Promise<Restored> {
  const client = ownerClient(address)
  await client.connect()
  try {
    await client.query('begin')
    let loading: store.Load | undefined
    const { header, manifest } = await readBackup(file, backupKeys, {
      async header(read) {
        if (read.type !== 'full' && !takesClinics) throw new StartupError(OF_A_CLINIC)
        await makeSchema(client, migrationsOf(read, migrations))
        const purged = new Set(purgedOf(notes, read.installation))
        loading = await store.beginLoad(client, read, purged)
      },
      rows: (table, rows) => loading?.copy(table, rows),
    })
    if (!loading) throw new Error('the backup has no header')
    const left = await loading.end(manifest)
    await client.query(`set local role ${PLATFORM_ROLE}`)
    if (header.type === 'full' && !(await store.hasOperator(client)))
      throw new StartupError('The backup has no superadmin who can sign in. Use another backup.')
    await client.query('reset role')
    await store.adoptInstallationId(client, header.installation)
    const ownRecords = recordNotes.filter((note) => note.installation === header.installation)
    const purged_records = await deleteNoted(client, purgedRecords, ownRecords)
    const own = notes.filter(({ installation }) => installation === header.installation)
    await enterNotes(client, own)
    await client.query('commit')
    return {
      header,
      records: recordsOf(manifest) - left.rows,
      purged: left.tenants,
      purged_records,
    }
  } catch (error) {
    if (error instanceof UnreadableFile)
      throw new StartupError(`The backup could not be restored: ${error.message}.`)
    throw error
  } finally {
    // Closing the connection rolls back the transaction if it is still open.
    await client.end()
  }
}

const OF_A_CLINIC = 'This is a backup of one tenant. An empty database requires a full backup.'

/** Returns the migrations of the backup's schema. @throws OtherReleaseError if this release lacks any of them */
function migrationsOf(header: Header, ours: readonly Migration[]): readonly Migration[] {
  const known = ours.at(-1)?.version ?? 0
  if (header.schema_version > known)
    throw new OtherReleaseError(
      `The backup has schema version ${header.schema_version}, but this release only supports up to ${known}. Restore it with the newer release of Wardkeep.`,
    )
  const theirs = ours.filter(({ version }) => version <= header.schema_version)
  const isSame =
    theirs.length === header.migrations.length &&
    header.migrations.every(
      ({ version, checksum }, index) =>
        theirs[index]?.version === version && theirs[index]?.checksum === checksum,
    )
  if (!isSame)
    throw new OtherReleaseError(
      'The backup was created by a release with different migrations. Restore it with that release.',
    )
  return theirs
}
