/** Reads a backup as a stream, and verifies that it is complete and signed with a root key of this installation. */
import { createHash } from 'node:crypto'
import { releaseChunk } from '../../../lib/free-memory.ts'
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
import type { BackupKeys } from './identity.ts'
import { parseHeader, parseManifest } from './parse.ts'
import { wholeRows } from './rows.ts'
import { readToEnd, type TarEntry, unarchive } from './tar.ts'
import { unzstd } from './unzstd.ts'
import { add, newTotal, type Total } from './write.ts'

/** The size limits: of the README and the MAC, and of the header and the manifest, which grow with the tables. */
const MAX_NOTE_BYTES = 64 * 1024
const MAX_TEXT_BYTES = 16 * 1024 * 1024

export interface BackupReader {
  /** Called before any rows are read. If it throws, reading stops. */
  header?(header: Header): Promise<void> | void
  /** Called with complete rows of a table, in file order and in COPY's text format. */
  rows?(table: string, rows: Buffer): Promise<void> | void
}

/** A chunk of complete rows of one table, in COPY's text format. */
export interface BackupPart {
  table: string
  rows: Buffer
}

/** The header and the manifest of a file that was verified completely. */
export interface VerifiedFile {
  header: Header
  manifest: Manifest
}

/**
 * Reads a whole backup file. The header and the rows are verified only when this function returns. If it throws, the
 * caller must undo all changes that it made with them.
 * @throws UnreadableFile if the file is truncated, altered, or not signed with a known root key
 */
export async function readBackup(
  source: AsyncIterable<Uint8Array>,
  backupKeys: BackupKeys,
  reader: BackupReader,
): Promise<VerifiedFile> {
  await using parts = partsOf(source, backupKeys, reader.header, reader.rows === undefined)
  for (;;) {
    const next = await parts.next()
    if (next.done) return next.value
    await reader.rows?.(next.value.table, next.value.rows)
  }
}

/** A backup whose header was read but is not verified yet. The file is closed when this object goes out of scope. */
export interface OpenedBackup extends AsyncDisposable {
  header: Header
  /** The first chunk of rows, or the end of the backup. */
  first: IteratorResult<BackupPart, VerifiedFile>
  /** The remaining chunks. The backup is verified once the generator has ended. */
  parts: AsyncGenerator<BackupPart, VerifiedFile>
}

/** Opens a backup like `readBackup`. For callers that check the header first and then request the chunks themselves. */
export async function openBackup(
  source: AsyncIterable<Uint8Array>,
  backupKeys: BackupKeys,
): Promise<OpenedBackup> {
  let header: Header | undefined
  const parts = partsOf(source, backupKeys, (found) => {
    header = found
  })
  const first = await parts.next()
  if (!header) throw new UnreadableFile('the file has no header')
  return { header, first, parts, [Symbol.asyncDispose]: () => parts[Symbol.asyncDispose]() }
}

async function* partsOf(
  source: AsyncIterable<Uint8Array>,
  backupKeys: BackupKeys,
  onHeader?: BackupReader['header'],
  /** True if the caller stops using a chunk of rows before it requests the next one. The memory can then be reused. */
  areReleased = false,
): AsyncGenerator<BackupPart, VerifiedFile> {
  const frame = unzstd(decrypt(source, backupKeys.opener), areReleased ? releaseChunk : undefined)
  const files = unarchive(frame, MAX_FILE_BYTES)
  const header = await readHeader(files)
  await onHeader?.(header.value)
  const totals = new Map<string, TableTotal>()
  let manifest: Buffer | undefined
  let mac: Buffer | undefined
  for await (const file of files) {
    const table = tableOf(file.name)
    if (mac || (manifest && file.name !== MANIFEST_MAC)) throw unknown(file)
    if (table && !manifest) {
      const total = beginPart(totals, table, file)
      for await (const rows of wholeRows(file.body)) {
        add(total, rows)
        yield { table, rows }
      }
    } else if (file.name === MANIFEST && !manifest) manifest = await readToEnd(file, MAX_TEXT_BYTES)
    else if (file.name === MANIFEST_MAC && manifest) mac = await readToEnd(file, MAX_NOTE_BYTES)
    else throw unknown(file)
  }
  if (!manifest || !mac) throw new UnreadableFile('the backup has no manifest')
  if (!backupKeys.isSigned(manifest, String(mac).trim()))
    throw new UnreadableFile('the backup was not created with this root key')
  const value = parseManifest(manifest)
  compare(header, value, totals)
  return { header: header.value, manifest: value }
}

type TableTotal = Total & { parts: number }

const unknown = ({ name }: TarEntry) => new UnreadableFile(`${name} does not belong in a backup`)

async function readHeader(files: AsyncGenerator<TarEntry>) {
  for (const name of [README, HEADER]) {
    const next = await files.next()
    if (next.done || next.value.name !== name) throw new UnreadableFile(`the file has no ${name}`)
    const text = await readToEnd(next.value, name === HEADER ? MAX_TEXT_BYTES : MAX_NOTE_BYTES)
    if (name !== HEADER) continue
    return { value: parseHeader(text), sha256: createHash('sha256').update(text).digest('hex') }
  }
  throw new UnreadableFile('the file is empty')
}

/** Registers the next part file of a table. Returns the running total of the table's rows. */
function beginPart(totals: Map<string, TableTotal>, table: string, file: TarEntry): TableTotal {
  const total = totals.get(table) ?? { ...newTotal(), parts: 0 }
  totals.set(table, total)
  total.parts += 1
  if (file.name !== partName(table, total.parts)) throw unknown(file)
  return total
}

/** @throws UnreadableFile if the manifest does not match the header or the rows that were read */
function compare(
  header: { value: Header; sha256: string },
  manifest: Manifest,
  totals: ReadonlyMap<string, TableTotal>,
): void {
  const { tables, backup_id } = header.value
  if (manifest.header !== header.sha256 || manifest.backup_id !== backup_id)
    throw new UnreadableFile('the manifest belongs to another backup')
  for (const { name } of tables) {
    const said = manifest.tables[name]
    const found = totals.get(name)
    const sha256 = (found?.hash ?? createHash('sha256')).digest('hex')
    if (!said || said.rows !== (found?.rows ?? 0) || said.sha256 !== sha256)
      throw new UnreadableFile(`the rows of ${name} differ from those that were written`)
  }
  const strange = [...totals.keys()].find((name) => !tables.some((table) => table.name === name))
  if (strange) throw new UnreadableFile(`${strange} is not listed in the header`)
}
