/** Rewrites a backup as a stream, leaving out the rows of purged tenants. */

import type { Scopes } from '../../../platform/db/index.ts'
import { isBeingRestored, keepReadersOff } from '../backups.store.ts'
import { type BackupProgress, measure, verifyFile, writeSidecar } from '../create/create.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Header } from '../file/format.ts'
import type { BackupKeys } from '../file/identity.ts'
import { backupIdOf, fileName, sidecarName } from '../file/names.ts'
import { type OpenedBackup, openBackup } from '../file/read.ts'
import { findSigned } from '../file/signed-text.ts'
import { rowsWithout } from '../file/tenant-rows.ts'
import { type Source, writeBackup } from '../file/write.ts'
import type { Store } from '../stores/store.ts'
import { readingBack } from '../work/progress.ts'
import type { CreatedBackup } from '../work/work.store.ts'

/** The part of the total progress for writing the file. The rest is for reading the file back. */
const WRITING = 0.7

export interface RewriteDeps {
  store: Store
  backupKeys: BackupKeys
}

export interface SettleDeps extends RewriteDeps {
  db: Scopes
}

/** A completed backup, and what is recorded about its file. */
export interface Filed extends Omit<CreatedBackup, 'locked_until'> {
  id: string
  rewritten_at: string | null
}

export interface Rewritten extends CreatedBackup {
  rewritten_at: string
  forgotten: number[]
}

/**
 * Writes a new file next to the previous one and verifies it. The database and the list entry still name the previous
 * file.
 * @throws UnreadableFile if the previous file is incomplete, or was not created with a known root key
 */
export async function rewrite(
  { id, size_bytes, rewritten_at: before, schema_version }: Filed,
  { rewritten_at, forgotten }: Pick<Rewritten, 'rewritten_at' | 'forgotten'>,
  { store, backupKeys }: RewriteDeps,
  watch: Pick<BackupProgress, 'signal' | 'progress'>,
): Promise<Rewritten> {
  await store.requireRoom(size_bytes)
  const read = measure(store.read(fileName(id, before)), (bytes) => {
    watch.signal.throwIfAborted()
    const share = (WRITING * bytes) / size_bytes
    const phase = 'Rewriting the file'
    watch.progress({ share, phase, done: bytes, total: size_bytes, unit: 'bytes' })
  })
  await using file = await openBackup(read.source, backupKeys)
  if (file.header.backup_id !== id)
    throw new UnreadableFile('the file contains a different backup than its name says')
  const writer = await ownKeys(backupKeys, file.header)
  let records = 0
  const source: Source = {
    header: { ...file.header, rewritten_at, forgotten },
    rows: rowsOf(file, new Set(forgotten)),
  }
  const written = measure(
    writeBackup(source, writer, (rows) => {
      records += rows
    }),
  )
  const name = fileName(id, rewritten_at)
  await store.write(name, written.source, watch.signal)
  const made = { ...written.result(), records, schema_version }
  await verifyFile(store, backupKeys, { name, sha256: made.sha256 }, watch.signal, (bytes) =>
    watch.progress(readingBack(WRITING, bytes, made.size_bytes)),
  )
  const locked_until = await store.lockedUntil(name)
  return { ...made, locked_until, rewritten_at, forgotten }
}

/**
 * Returns a keeper that writes with the root key named in the header, because that key also wraps the data keys in the
 * backup. Only then can a new machine that has just this root key read the file. Files of earlier releases name no root
 * key, and are written with the current one.
 */
const ownKeys = (backupKeys: BackupKeys, { keys }: Header): Promise<BackupKeys> =>
  backupKeys.by(keys.root_key)

/** Returns a function that yields a table's rows without the given tenants. Throws if the file is invalid. */
function rowsOf(
  { header, parts, first }: OpenedBackup,
  tenants: ReadonlySet<number>,
): Source['rows'] {
  let next = first
  return async function* rows(name) {
    const table = header.tables.find((one) => one.name === name)
    while (table && !next.done && next.value.table === name) {
      const kept = rowsWithout(table, next.value.rows, tenants)
      if (kept.rows.length > 0) yield kept.rows
      next = await parts.next()
    }
    // The new file may be signed only if the previous file was read and verified to its end.
    if (table === header.tables.at(-1) && !next.done)
      throw new UnreadableFile(`the rows of ${next.value.table} are in the wrong order`)
  }
}

/**
 * Makes the store match the database: the list entry describes the current file, and no other file of the backup
 * exists. It is safe to call the function again after an interruption.
 * @throws KeptError if the previous file could not be deleted because it is being read or is locked
 */
export async function settleRewrite(
  backup: Filed,
  { db, store, backupKeys }: SettleDeps,
  signal: AbortSignal,
): Promise<void> {
  const name = fileName(backup.id, backup.rewritten_at)
  const entry = await findSigned(store, backupKeys, sidecarName(backup.id))
  if (entry?.sha256 !== backup.sha256) {
    await using file = await openBackup(store.read(name), backupKeys)
    const writer = await ownKeys(backupKeys, file.header)
    await writeSidecar(store, writer, file.header, backup, signal)
  }
  const former = async () =>
    (await store.list()).flatMap((other) =>
      backupIdOf(other.name) === backup.id && other.name !== name ? [other.name] : [],
    )
  const found = await former()
  if (found.length === 0) return
  await db.acrossTenants(async (tx) => {
    if ((await isBeingRestored(tx, backup.id)) || !(await keepReadersOff(tx, backup.id)))
      throw new KeptError(
        'the previous file is still being read, so it could not be deleted. Run the command again',
      )
    for (const other of found) await store.delete(other)
  })
  if ((await former()).length > 0)
    throw new KeptError(
      'the store keeps the previous file, which still contains the tenant, until its lock ends',
    )
}

/** Thrown when the previous file of a backup could not be deleted. */
export class KeptError extends Error {}
