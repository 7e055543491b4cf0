/** Exports sealed logs from the database: as one file, or as folders that are static logs in tiles (C2SP tlog-tiles). */
import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { entryBundle, MAX_ENTRY_BYTES } from '../../../lib/merkle/entry-bundle.ts'
import { subtreesOf, tilesForSubtrees } from '../../../lib/merkle/range.ts'
import { entriesPath, tilePath } from '../../../lib/merkle/tile-paths.ts'
import { type BuiltTile, openTileStream } from '../../../lib/merkle/tile-stream.ts'
import { HASH_BYTES, TILE_WIDTH } from '../../../lib/merkle/tree.ts'
import type { Span } from '../../../lib/span.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  CHECKPOINT_FILE,
  type ExportedEntry,
  type ExportHeader,
  entryLine,
  hashesLine,
  headerLine,
  KEY_FILE,
  lastLine,
  PERSONAL_FILE,
  personalLine,
  Uncheckable,
} from '../offline/index.ts'
import type { ExportedHead } from './heads.service.ts'
import { leafContent, storedCommitments } from './leaf.ts'
import { loadTiles } from './logs.store.ts'
import { findRange } from './read-log.store.ts'
import { readBlocks, type StoredBlock } from './read-log.ts'

export interface ExportTarget {
  /** The path of a new file, which ends with `.jsonl`, or of a new or empty folder. */
  out: string
  span: Span
}

/** Exports logs. Returns the number of entries. @throws Uncheckable if the target exists */
export async function exportLogs(
  db: Scopes,
  logs: readonly ExportedHead[],
  { out, span }: ExportTarget,
): Promise<number> {
  if (out.endsWith('.jsonl')) return exportFile(db, logs, { out, span })
  if (span.from || span.until)
    throw new Uncheckable(
      'A folder contains whole logs. Pass a file that ends with .jsonl to export a range of time.',
    )
  await mkdir(out, { recursive: true })
  if ((await readdir(out)).length > 0)
    throw new Uncheckable(`${out}: The folder is not empty. Pass a new one.`)
  let entries = 0
  // A folder is a static log, which needs a head of its own.
  const current = logs.filter(({ isEnded }) => !isEnded)
  for (const log of current) {
    const folder = current.length === 1 ? out : join(out, String(log.tenant_id))
    entries += await inSnapshot(db, (tx) => exportFolder(tx, log, folder))
  }
  return entries
}

/** Runs `work` in a transaction that only reads, in one snapshot. */
const inSnapshot = <T>(db: Scopes, work: (tx: TenantTx) => Promise<T>): Promise<T> =>
  db.acrossTenants(work, 'filtered list')

async function exportFile(
  db: Scopes,
  logs: readonly ExportedHead[],
  { out, span }: ExportTarget,
): Promise<number> {
  // Refuses to overwrite evidence.
  const handle = await open(out, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new Uncheckable(`${out}: The file already exists.`)
    throw error
  })
  await handle.close()
  let entries = 0
  try {
    for (const log of logs)
      entries += await appendPart(db, out, log, (tx) => rangeOf(tx, log, span))
  } catch (error) {
    await rm(out, { force: true })
    throw error
  }
  return entries
}

/** Consecutive leaves: the index of the first one, and the index after the last one. */
export interface LeafRange {
  first: number
  end: number
}

/** Returns the leaves of a log whose entries are of a span of time. */
async function rangeOf(tx: TenantTx, log: ExportedHead, span: Span): Promise<LeafRange> {
  const { size } = log
  const isWhole = !span.from && !span.until
  const range = isWhole ? { first: 0, end: size } : await findRange(tx, log, span)
  const first = Math.min(range?.first ?? 0, size)
  return { first, end: Math.max(first, Math.min(range?.end ?? 0, size)) }
}

/**
 * Exports a part of each log into a new file, later epochs first, and flushes the file to the disk. Returns how many
 * entries the last part has.
 */
export async function exportParts(
  db: Scopes,
  parts: readonly { log: ExportedHead; range: LeafRange }[],
  out: string,
): Promise<number> {
  await writeFile(out, '', { mode: 0o600 })
  let entries = 0
  for (const { log, range } of parts) entries = await appendPart(db, out, log, async () => range)
  const handle = await open(out, 'r')
  await handle.sync().finally(() => handle.close())
  return entries
}

/** Appends a part of a log to a file. Returns the number of entries. */
async function appendPart(
  db: Scopes,
  out: string,
  log: ExportedHead,
  findPart: (tx: TenantTx) => Promise<LeafRange>,
): Promise<number> {
  const { size: start } = await stat(out)
  return inSnapshot(db, async (tx) => {
    // A repeated transaction begins again.
    await truncate(out, start)
    const written = { entries: 0 }
    const lines = linesOf(tx, log, await findPart(tx), written)
    await pipeline(Readable.from(lines), createWriteStream(out, { flags: 'a' }))
    return written.entries
  })
}

async function* linesOf(
  tx: TenantTx,
  log: ExportedHead,
  { first, end }: LeafRange,
  written: { entries: number },
): AsyncGenerator<string> {
  yield headerLine(await headerOf(tx, log, first, end))
  for await (const block of readBlocks(tx, log, first, end)) {
    const lines = block.rows.map((row) => {
      const entry = entryOf(row)
      return entry ? entryLine(entry) : ''
    })
    written.entries += lines.filter((line) => line !== '').length
    yield hashesLine(block.first, requireHashes(block)) + lines.join('')
  }
  yield lastLine(written.entries)
}

function requireHashes({ first, hashes }: StoredBlock): Buffer {
  if (hashes.length === 0)
    throw new Uncheckable(
      `The tile of the leaves from ${first} is missing, so this log cannot be exported. Run wardkeep audit verify.`,
    )
  return hashes
}

async function headerOf(
  tx: TenantTx,
  log: ExportedHead,
  first: number,
  end: number,
): Promise<ExportHeader> {
  const { origin, key, checkpoint, size } = log
  const [before, after] = [subtreesOf(0, first), subtreesOf(end, size)]
  const wanted = tilesForSubtrees([...before, ...after]).map((place) => ({ ...log, ...place }))
  const tiles = (await loadTiles(tx, wanted)).get(log.tenant_id)
  const hashesOf = (subtrees: typeof before) =>
    subtrees.map(({ height, index }) => tiles?.node(height, index) as Buffer)
  return {
    origin,
    key,
    checkpoint,
    size,
    first,
    end,
    left: hashesOf(before),
    right: hashesOf(after),
  }
}

function entryOf({ entry, entry_id: _, ...leaf }: StoredBlock['rows'][number]) {
  return entry && ({ ...entry, ...leaf } satisfies ExportedEntry)
}

async function exportFolder(tx: TenantTx, log: ExportedHead, folder: string): Promise<number> {
  const { size, checkpoint, key } = log
  if (checkpoint === null) throw new Error('a folder needs a signed head')
  await mkdir(folder, { recursive: true })
  const tiles = openTileStream()
  const writeTiles = async (built: readonly BuiltTile[]) => {
    for (const tile of built) await writePart(join(folder, tilePath(tile)), tile.hashes)
  }
  const personal = await open(join(folder, PERSONAL_FILE), 'w')
  let entries = 0
  try {
    for await (const block of readBlocks(tx, log, 0, size)) {
      const { first, end, rows } = block
      const hashes = requireHashes(block)
      const found = new Map(rows.map((row) => [row.index, entryOf(row)]))
      const contents = Array.from({ length: end - first }, (_, at) => found.get(first + at) ?? null)
      const place = { index: first / TILE_WIDTH, width: end - first }
      await writePart(join(folder, entriesPath(place)), bundleOf(contents))
      const whole = contents.filter((entry) => entry !== null)
      await personal.write(whole.map(personalLine).join(''))
      entries += whole.length
      await writeTiles(
        tiles.append(
          Array.from({ length: end - first }, (_, at) =>
            hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
          ),
        ),
      )
    }
    await writeTiles(tiles.partial())
  } finally {
    await personal.close()
  }
  await writeFile(join(folder, KEY_FILE), `${key}\n`)
  // The head comes last, so that a folder without one is known to be incomplete.
  await writeFile(join(folder, CHECKPOINT_FILE), checkpoint)
  return entries
}

/** Returns the entries below a tile, each after its length (C2SP tlog-tiles). An entry that is missing has no bytes. */
function bundleOf(entries: readonly (ExportedEntry | null)[]): Buffer {
  const contents = entries.map((entry) => {
    const commitments = entry && storedCommitments(entry, entry)
    const content = commitments ? leafContent(entry, commitments, entry.mark) : ''
    if (Buffer.byteLength(content) > MAX_ENTRY_BYTES)
      throw new Uncheckable(
        `Entry ${entry?.id} is too long for a folder. Pass a file that ends with .jsonl.`,
      )
    return content
  })
  return entryBundle(contents)
}

async function writePart(path: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, bytes)
}
