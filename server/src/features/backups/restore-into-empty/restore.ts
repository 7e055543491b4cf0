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
import type { PurgedRecords } from '../../../platform/restore-rule.ts'
import { enterNotes } from '../erase/erase.store.ts'
import { type Note, purgedOf } from '../erase/notes.ts'
import { deleteNoted, enterRecords, type RecordNotes } from '../erase/purged-records.store.ts'
import { UnreadableFile } from '../file/age.ts'
import { type Header, recordsOf } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import { readBackup } from '../file/read.ts'
import * as store from './load.store.ts'

export interface RestoreDeps {
  address: DatabaseAddress
  keeper: Keeper
  log: Logger
  /** Of tenants that were purged: what the stores tell that are at hand. */
  notes: readonly Note[]
  /** The notes of purged records, such as patients. */
  recordNotes: readonly RecordNotes[]
  purgedRecords: readonly PurgedRecords[]
  /** Whether one of a single clinic will do: for what is only read out of the database again. */
  takesClinics?: boolean
  /** Those of this release, unless a test has others. */
  migrations?: Migration[]
}

/** The backup is of a release that this one does not know, which says nothing of whether it can be restored. */
export class OtherReleaseError extends StartupError {}

/** What has come back. */
export interface Restored {
  header: Header
  records: number
  /** The tenants of the backup that were purged, and left out. */
  purged: number[]
  /** Destroyed records of the backup that were left out: how many, by table. */
  purged_records: Record<string, number>
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
  await enterOwnRecords(deps, restored.header)
  return restored
}

/** Enters the records that were destroyed. Their rows are gone already, so a crash before this loses no erasure. */
async function enterOwnRecords(
  { address, recordNotes, purgedRecords }: RestoreDeps,
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
    keeper,
    migrations,
    notes,
    recordNotes,
    purgedRecords,
    takesClinics = false,
  }: RestoreDeps & { migrations: Migration[] },
): Promise<Restored> {
  const client = ownerClient(address)
  await client.connect()
  try {
    await client.query('begin')
    let loading: store.Load | undefined
    const { header, manifest } = await readBackup(file, keeper, {
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
      throw new StartupError('The backup has no superadmin who could sign in.')
    await client.query('reset role')
    await store.beInstallation(client, header.installation)
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
      throw new StartupError(`The backup can not be restored: ${error.message}.`)
    throw error
  } finally {
    // What is not committed goes with it.
    await client.end()
  }
}

const OF_A_CLINIC = 'The backup is of one clinic; an empty database takes a backup of everything.'

/** @throws OtherReleaseError unless this release has the migrations that made the backup's schema */
function migrationsOf(header: Header, ours: readonly Migration[]): readonly Migration[] {
  const known = ours.at(-1)?.version ?? 0
  if (header.schema_version > known)
    throw new OtherReleaseError(
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
    throw new OtherReleaseError(
      'The backup was made by a release with other migrations than this one: restore it with that release.',
    )
  return theirs
}
