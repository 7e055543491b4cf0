/** Makes a backup: snapshot, file, store, and what is stored read back and compared before it counts. */

import { createHash } from 'node:crypto'
import { letGo, lettingGo } from '../../../lib/let-go.ts'
import type { Connection } from '../../../platform/db/index.ts'
import { UnreadableFile } from '../file/age.ts'
import { FORMAT, type Header } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import { fileName, sidecarName } from '../file/names.ts'
import { readBackup } from '../file/read.ts'
import { type Rest, resting } from '../file/resting.ts'
import { writeSigned } from '../file/signed.ts'
import { writeBackup } from '../file/write.ts'
import type { Store } from '../stores/store.ts'
import type { Job, Made } from '../work/work.store.ts'
import { takeSnapshot } from './snapshot.store.ts'

/** What writing comes to of the whole work; reading back is the rest. */
const WRITING = 0.8
/** The file is smaller than the tables by more than this: rows are text there, but compressed. */
const SHRINKS_TO = 0.3

export interface CreateDeps {
  keeper: Keeper
  store: Store
  /** The tables that a backup holds. */
  tables: readonly string[]
}

/** What the work tells of itself while it runs. */
export interface Watch {
  /** Ends the work. */
  signal: AbortSignal
  /** Between 0 and 1. */
  progress(share: number): void
  /** The process of the connection that holds the tables, from then on. */
  holding(pid: number): void
  /** Rests between two steps where others have something to do; without it the work goes on. */
  rest?: Rest | undefined
}

/**
 * @param client of its own, without time limits
 * @param snapshotName of a transaction that is open, to see what it sees
 * @throws NoRoomError, or what the database, the store or the signal says
 */
export async function createBackup(
  client: Connection,
  job: Pick<Job, 'backup_id' | 'type' | 'tenant_id'>,
  { keeper, store, tables }: CreateDeps,
  watch: Watch,
  snapshotName?: string,
): Promise<Made> {
  const snapshot = await takeSnapshot(client, tables, job.tenant_id, snapshotName)
  watch.holding(snapshot.pid)
  const header: Header = {
    format: FORMAT,
    backup_id: job.backup_id,
    installation: snapshot.installation,
    type: job.type,
    tenant_id: job.tenant_id,
    created_at: snapshot.at,
    ...snapshot.schema,
    keys: { ...snapshot.keys, root_key: keeper.fingerprint },
    tables: snapshot.tables,
    ...(snapshot.sequences ? { sequences: snapshot.sequences } : {}),
  }
  // A clinic's share of the tables is not known before: the store looks again while it writes.
  if (job.tenant_id === null) await store.requireRoom(snapshot.estimate.bytes * SHRINKS_TO)
  let rows = 0
  const file = writeBackup({ header, rows: snapshot.rows, rest: watch.rest }, keeper, (count) => {
    rows += count
    watch.progress((WRITING * rows) / Math.max(rows, snapshot.estimate.rows, 1))
  })
  const name = fileName(job.backup_id, null)
  const written = measure(lettingGo(file))
  await store.write(name, written.source, watch.signal)
  await snapshot.release()
  const { size_bytes, sha256 } = written.result()
  await compareStored(store, { name, sha256 }, watch, (bytes) =>
    watch.progress(WRITING + ((1 - WRITING) * bytes) / size_bytes),
  )
  const made = { size_bytes, sha256, records: rows, schema_version: header.schema_version }
  await writeSidecar(store, keeper, header, made, watch.signal)
  return { ...made, locked_until: await store.lockedUntil(sidecarName(job.backup_id)) }
}

/**
 * Reads what the store has back, and compares it with what was written. That it opens is proven by a drill.
 * @throws UnreadableFile where it is another, NotStoredError
 */
async function compareStored(
  store: Store,
  { name, sha256 }: { name: string; sha256: string },
  { signal, rest }: Pick<Watch, 'signal' | 'rest'>,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const read = readFrom(store, name, signal, onBytes)
  for await (const bytes of resting(read.source, rest)) letGo(bytes)
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
  if (read.sha256 !== written) throw new UnreadableFile(`${name} is not the file that was written`)
}

/**
 * Reads the object to its end: every byte authentic, every row counted, and what the catalogue says of it.
 * @throws UnreadableFile that says what is wrong with it, NotStoredError
 */
export async function verifyFile(
  store: Store,
  keeper: Keeper,
  { name, sha256 }: { name: string; sha256: string | null },
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const read = readFrom(store, name, signal, onBytes)
  await readBackup(read.source, keeper, {})
  if (sha256 !== null) requireSame(name, sha256, read.result())
}

/** Keeps what the list shows of a backup; what was before gives way to it. */
export async function writeSidecar(
  store: Store,
  keeper: Keeper,
  { tables: _, migrations: __, sequences: ___, ...header }: Header,
  { size_bytes, sha256, records, schema_version }: Omit<Made, 'locked_until'>,
  signal: AbortSignal,
): Promise<void> {
  const value = { ...header, size_bytes, sha256, records, schema_version }
  await writeSigned(store, keeper, sidecarName(header.backup_id), value, signal)
}

/** The same bytes, with what they come to once they have passed. */
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
