/** Creates a backup: takes a snapshot, writes the file to the store, and reads it back to compare checksums. */

import { createHash } from 'node:crypto'
import { releaseChunk, releasingChunks } from '../../../lib/free-memory.ts'
import type { PgConnection } from '../../../platform/db/index.ts'
import { UnreadableFile } from '../file/age.ts'
import { FORMAT, type Header } from '../file/format.ts'
import type { BackupKeys } from '../file/identity.ts'
import { fileName, sidecarName } from '../file/names.ts'
import { type Rest, resting } from '../file/paced.ts'
import { readBackup } from '../file/read.ts'
import { writeSigned } from '../file/signed-text.ts'
import { writeBackup } from '../file/write.ts'
import type { Store } from '../stores/store.ts'
import { type Progress, readingBack } from '../work/progress.ts'
import type { CreatedBackup, Job } from '../work/work.store.ts'
import { takeSnapshot } from './snapshot.store.ts'

/** The part of the total progress for writing the file. The rest is for reading the file back. */
const WRITING = 0.8
/** The estimated ratio of file size to table size. Files are smaller because the rows are compressed. */
const SHRINKS_TO = 0.3

export interface CreateDeps {
  backupKeys: BackupKeys
  store: Store
  tables: readonly string[]
}

/** Callbacks and limits of a running backup. */
export interface BackupProgress {
  signal: AbortSignal
  progress(progress: Progress): void
  /** Reports the process id of the database connection that locks the tables. */
  holding(pid: number): void
  /** Pauses the backup while requests are using the database. If undefined, the backup never pauses. */
  rest?: Rest | undefined
}

/** Selects the database state to back up. Defaults to the current state. */
export interface BackupSource {
  /** The name of a snapshot that another open transaction exported. */
  snapshotName?: string
  /** The time (ISO 8601) up to which a standby has replayed all changes. */
  begunAt?: string
}

/**
 * Creates a backup from a new snapshot and returns the size, checksum and counts of its file.
 * @param client a dedicated connection without time limits
 * @throws NoRoomError, and any error of the database, the store or the signal
 */
export async function createBackup(
  client: PgConnection,
  job: Pick<Job, 'backup_id' | 'type' | 'tenant_id'>,
  { backupKeys, store, tables }: CreateDeps,
  watch: BackupProgress,
  { snapshotName, begunAt }: BackupSource = {},
): Promise<CreatedBackup> {
  const snapshot = await takeSnapshot(client, tables, job.tenant_id, snapshotName)
  watch.holding(snapshot.pid)
  const header: Header = {
    format: FORMAT,
    backup_id: job.backup_id,
    installation: snapshot.installation,
    type: job.type,
    tenant_id: job.tenant_id,
    created_at: begunAt ?? snapshot.at,
    ...snapshot.schema,
    keys: { ...snapshot.keys, root_key: backupKeys.fingerprint },
    tables: snapshot.tables,
    ...(snapshot.sequences ? { sequences: snapshot.sequences } : {}),
  }
  // The size of one tenant's rows is unknown in advance. The store checks free space while it writes the file.
  if (job.tenant_id === null) await store.requireRoom(snapshot.estimate.bytes * SHRINKS_TO)
  let rows = 0
  const file = writeBackup(
    { header, rows: snapshot.rows, rest: watch.rest },
    backupKeys,
    (count) => {
      rows += count
      const total = Math.max(rows, snapshot.estimate.rows, 1)
      const share = (WRITING * rows) / total
      watch.progress({ share, phase: 'Writing the file', done: rows, total, unit: 'records' })
    },
  )
  const name = fileName(job.backup_id, null)
  const written = measure(releasingChunks(file))
  await store.write(name, written.source, watch.signal)
  await snapshot.release()
  const { size_bytes, sha256 } = written.result()
  await compareStored(store, { name, sha256 }, watch, (bytes) =>
    watch.progress(readingBack(WRITING, bytes, size_bytes)),
  )
  const made = { size_bytes, sha256, records: rows, schema_version: header.schema_version }
  await writeSidecar(store, backupKeys, header, made, watch.signal)
  return { ...made, locked_until: await store.lockedUntil(sidecarName(job.backup_id)) }
}

/**
 * Reads the stored file back and compares its checksum with the written one. Does not decrypt the file, which later
 * verifications and test restores do.
 * @throws UnreadableFile if the checksums differ, NotStoredError if the store has no such file
 */
async function compareStored(
  store: Store,
  { name, sha256 }: { name: string; sha256: string },
  { signal, rest }: Pick<BackupProgress, 'signal' | 'rest'>,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const read = readFrom(store, name, signal, onBytes)
  for await (const bytes of resting(read.source, rest)) releaseChunk(bytes)
  requireSame(name, sha256, read.result())
}

function readFrom(
  store: Store,
  name: string,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
) {
  return measure(store.read(name), (bytes) => {
    signal.throwIfAborted()
    onBytes(bytes)
  })
}

function requireSame(name: string, written: string, read: { sha256: string }): void {
  if (read.sha256 !== written)
    throw new UnreadableFile(`${name} differs from the file that was written`)
}

/**
 * Reads a whole backup file from the store. Verifies that every byte is authentic, that the rows match the manifest,
 * and that the file matches its recorded checksum.
 * @throws UnreadableFile with the fault, NotStoredError if the store has no such file
 */
export async function verifyFile(
  store: Store,
  backupKeys: BackupKeys,
  { name, sha256 }: { name: string; sha256: string | null },
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const read = readFrom(store, name, signal, onBytes)
  await readBackup(read.source, backupKeys, {})
  if (sha256 !== null) requireSame(name, sha256, read.result())
}

/** Writes the list entry (the JSON description) of a backup to the store. Replaces an existing entry. */
export async function writeSidecar(
  store: Store,
  backupKeys: BackupKeys,
  { tables: _, migrations: __, sequences: ___, ...header }: Header,
  { size_bytes, sha256, records, schema_version }: Omit<CreatedBackup, 'locked_until'>,
  signal: AbortSignal,
): Promise<void> {
  const value = { ...header, size_bytes, sha256, records, schema_version }
  await writeSigned(store, backupKeys, sidecarName(header.backup_id), value, signal)
}

/** Passes the bytes of a source through while measuring their total size and SHA-256. */
export function measure(source: AsyncIterable<Uint8Array>, onBytes?: (bytes: number) => void) {
  const hash = createHash('sha256')
  let bytes = 0
  async function* passing(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk)
      bytes += chunk.length
      onBytes?.(bytes)
      yield chunk
    }
  }
  return {
    source: passing(),
    result: () => ({ size_bytes: bytes, sha256: hash.digest('hex') }),
  }
}
