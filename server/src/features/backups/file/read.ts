/** Reads a backup as a stream, and proves as it goes that it is whole and was made here. */
import { createHash } from 'node:crypto'
import { letGo } from '../../../lib/let-go.ts'
import { decrypt, UnreadableFile } from './age.ts'
import {
  HEADER,
  type Header,
  MANIFEST,
  MANIFEST_MAC,
  MAX_FILE_BYTES,
  type Manifest,
  partName,
  README,
  tableOf,
} from './format.ts'
import type { Keeper } from './identity.ts'
import { parseHeader, parseManifest } from './parse.ts'
import { wholeRows } from './rows.ts'
import { bytesOf, type ReadFile, unarchive } from './tar.ts'
import { unzstd } from './unzstd.ts'
import { add, newTotal, type Total } from './write.ts'

/** Bounds of the README and the MAC, and of the header and the manifest, which grow with tenants and partitions. */
const MAX_NOTE_BYTES = 64 * 1024
const MAX_TEXT_BYTES = 16 * 1024 * 1024

/** What a reader does with a backup. */
export interface Reader {
  /** Called before any row. What it throws ends the reading. */
  header?(header: Header): Promise<void> | void
  /** Called with rows of a table, in order, in COPY's text format. */
  rows?(table: string, rows: Buffer): Promise<void> | void
}

/** Some rows of a table, in COPY's text format, cut where one ends. */
export interface Part {
  table: string
  rows: Buffer
}

/** What a backup says of itself, once all of it is proven. */
export interface Proven {
  header: Header
  manifest: Manifest
}

/**
 * Reads the file to its end. Until it returns nothing of it is proven: what came of the rows may still
 * have to be undone.
 * @throws UnreadableFile when it is cut, altered, or was not made with this root key
 */
export async function readBackup(
  source: AsyncIterable<Uint8Array>,
  keeper: Keeper,
  reader: Reader,
): Promise<Proven> {
  await using parts = partsOf(source, keeper, reader.header, reader.rows === undefined)
  for (;;) {
    const next = await parts.next()
    if (next.done) return next.value
    await reader.rows?.(next.value.table, next.value.rows)
  }
}

/** A backup whose header is read, and not proven. It is closed when it goes out of scope. */
export interface OpenedBackup extends AsyncDisposable {
  header: Header
  /** The first part, or the end. */
  first: IteratorResult<Part, Proven>
  /** What follows: the backup is proven once the end was asked for. */
  parts: AsyncGenerator<Part, Proven>
}

/** As `readBackup`, for whoever looks at the header, and then asks for part after part. */
export async function openBackup(
  source: AsyncIterable<Uint8Array>,
  keeper: Keeper,
): Promise<OpenedBackup> {
  let header: Header | undefined
  const parts = partsOf(source, keeper, (found) => {
    header = found
  })
  const first = await parts.next()
  if (!header) throw new UnreadableFile('the file has no header')
  return { header, first, parts, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() }
}

async function* partsOf(
  source: AsyncIterable<Uint8Array>,
  keeper: Keeper,
  onHeader?: Reader['header'],
  /** Whether the rows of a part are no longer used when the next is asked for. */
  areLetGo = false,
): AsyncGenerator<Part, Proven> {
  const frame = unzstd(decrypt(source, keeper.opener), areLetGo ? letGo : undefined)
  const files = unarchive(frame, MAX_FILE_BYTES)
  const header = await readHeader(files)
  await onHeader?.(header.value)
  const seen = new Map<string, Seen>()
  let manifest: Buffer | undefined
  let mac: Buffer | undefined
  for await (const file of files) {
    const table = tableOf(file.name)
    if (mac || (manifest && file.name !== MANIFEST_MAC)) throw unknown(file)
    if (table && !manifest) {
      const total = beginPart(seen, table, file)
      for await (const rows of wholeRows(file.body)) {
        add(total, rows)
        yield { table, rows }
      }
    } else if (file.name === MANIFEST && !manifest) manifest = await bytesOf(file, MAX_TEXT_BYTES)
    else if (file.name === MANIFEST_MAC && manifest) mac = await bytesOf(file, MAX_NOTE_BYTES)
    else throw unknown(file)
  }
  if (!manifest || !mac) throw new UnreadableFile('the backup has no manifest')
  if (!keeper.isSigned(manifest, String(mac).trim()))
    throw new UnreadableFile('the backup was not made with this root key')
  const value = parseManifest(manifest)
  compare(header, value, seen)
  return { header: header.value, manifest: value }
}

type Seen = Total & { parts: number }

const unknown = ({ name }: ReadFile) => new UnreadableFile(`${name} is no file of a backup here`)

async function readHeader(files: AsyncGenerator<ReadFile>) {
  for (const name of [README, HEADER]) {
    const next = await files.next()
    if (next.done || next.value.name !== name) throw new UnreadableFile(`the file has no ${name}`)
    const text = await bytesOf(next.value, name === HEADER ? MAX_TEXT_BYTES : MAX_NOTE_BYTES)
    if (name !== HEADER) continue
    return { value: parseHeader(text), sha256: createHash('sha256').update(text).digest('hex') }
  }
  throw new UnreadableFile('the file is empty')
}

/** What was seen of a table, of which a part begins. */
function beginPart(seen: Map<string, Seen>, table: string, file: ReadFile): Seen {
  const total = seen.get(table) ?? { ...newTotal(), parts: 0 }
  seen.set(table, total)
  total.parts += 1
  if (file.name !== partName(table, total.parts)) throw unknown(file)
  return total
}

/** @throws UnreadableFile unless the manifest tells of this header and of these rows */
function compare(
  header: { value: Header; sha256: string },
  manifest: Manifest,
  seen: ReadonlyMap<string, Seen>,
): void {
  const { tables, backup_id } = header.value
  if (manifest.header !== header.sha256 || manifest.backup_id !== backup_id)
    throw new UnreadableFile('the manifest is of another backup')
  for (const { name } of tables) {
    const said = manifest.tables[name]
    const found = seen.get(name)
    const sha256 = (found?.hash ?? createHash('sha256')).digest('hex')
    if (!said || said.rows !== (found?.rows ?? 0) || said.sha256 !== sha256)
      throw new UnreadableFile(`the rows of ${name} are not those that were written`)
  }
  const strange = [...seen.keys()].find((name) => !tables.some((table) => table.name === name))
  if (strange) throw new UnreadableFile(`the header does not name ${strange}`)
}
