/** Writes a backup anew, as a stream, without the rows of tenants that were purged. */

import type { Scopes } from '../../../platform/db/index.ts'
import { isBeingRestored, keepReadersOff } from '../backups.store.ts'
import { measure, verifyFile, type Watch, writeSidecar } from '../create/create.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Header } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import { fileName, idOf, sidecarName } from '../file/names.ts'
import { type OpenedBackup, openBackup } from '../file/read.ts'
import { findSigned } from '../file/signed.ts'
import { rowsWithout } from '../file/tenant-rows.ts'
import { type Source, writeBackup } from '../file/write.ts'
import type { Store } from '../stores/store.ts'
import type { Made } from '../work/work.store.ts'

/** What writing comes to of the whole work; reading back is the rest. */
const WRITING = 0.7

export interface FileDeps {
  store: Store
  keeper: Keeper
}

export interface SettleDeps extends FileDeps {
  db: Scopes
}

/** A backup whose file is known. */
export interface Filed extends Omit<Made, 'locked_until'> {
  id: string
  rewritten_at: string | null
}

export interface Rewritten extends Made {
  rewritten_at: string
  forgotten: number[]
}

/**
 * Writes the file anew beside the former one, and reads it again to its end: nothing refers to it yet.
 * @throws UnreadableFile where the former one is not whole, or was not made with this root key
 */
export async function rewrite(
  { id, size_bytes, rewritten_at: before, schema_version }: Filed,
  { rewritten_at, forgotten }: Pick<Rewritten, 'rewritten_at' | 'forgotten'>,
  { store, keeper }: FileDeps,
  watch: Pick<Watch, 'signal' | 'progress'>,
): Promise<Rewritten> {
  await store.requireRoom(size_bytes)
  const read = measure(store.read(fileName(id, before)), (bytes) => {
    watch.signal.throwIfAborted()
    watch.progress((WRITING * bytes) / size_bytes)
  })
  await using file = await openBackup(read.source, keeper)
  if (file.header.backup_id !== id)
    throw new UnreadableFile('the file is another backup than its name says')
  const writer = await ownKeeper(keeper, file.header)
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
  await verifyFile(store, keeper, { name, sha256: made.sha256 }, watch.signal, (bytes) =>
    watch.progress(WRITING + ((1 - WRITING) * bytes) / made.size_bytes),
  )
  const locked_until = await store.lockedUntil(name)
  return { ...made, locked_until, rewritten_at, forgotten }
}

/**
 * Of the root key that the header names. The keys in the backup are wrapped by that one: a bare machine, which
 * is given one root key, could use no file that opens by another. Files of earlier releases name none.
 */
const ownKeeper = (keeper: Keeper, { keys }: Header): Promise<Keeper> => keeper.by(keys.root_key)

/** The rows of each table but for those of the tenants. They end once the whole file is proven, or fail. */
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
    // What is signed next has to be of a file that was read, and proven, to its end.
    if (table === header.tables.at(-1) && !next.done)
      throw new UnreadableFile(`the rows of ${next.value.table} are not where they belong`)
  }
}

/**
 * Makes the store what the database says of a backup: the list entry is that of its file, and no other file
 * of it is there. Where it was ended in between it is done once more.
 * @throws KeptError where the former file is still there: it is read, or locked
 */
export async function settle(
  backup: Filed,
  { db, store, keeper }: SettleDeps,
  signal: AbortSignal,
): Promise<void> {
  const name = fileName(backup.id, backup.rewritten_at)
  const entry = await findSigned(store, keeper, sidecarName(backup.id))
  if (entry?.sha256 !== backup.sha256) {
    await using file = await openBackup(store.read(name), keeper)
    const writer = await ownKeeper(keeper, file.header)
    await writeSidecar(store, writer, file.header, backup, signal)
  }
  const former = async () =>
    (await store.list()).flatMap((other) =>
      idOf(other.name) === backup.id && other.name !== name ? [other.name] : [],
    )
  const found = await former()
  if (found.length === 0) return
  await db.acrossTenants(async (tx) => {
    if ((await isBeingRestored(tx, backup.id)) || !(await keepReadersOff(tx, backup.id)))
      throw new KeptError('somebody reads the former file, with all that was in it; ask again')
    for (const other of found) await store.delete(other)
  })
  if ((await former()).length > 0)
    throw new KeptError('the store keeps the former file, with all that was in it')
}

/** The former file is still there. */
export class KeptError extends Error {}
