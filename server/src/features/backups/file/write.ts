/** Writes a backup: header, rows, manifest; tar, zstd, age; each step as fast as the next one takes it. */
import { createHash, type Hash } from 'node:crypto'
import { constants, createZstdCompress } from 'node:zlib'
import { encrypt } from './age.ts'
import {
  HEADER,
  type Header,
  MANIFEST,
  MANIFEST_MAC,
  type Manifest,
  PART_BYTES,
  partName,
  README,
  readme,
} from './format.ts'
import type { Keeper } from './identity.ts'
import { archive, type TarFile } from './tar.ts'
import { through } from './through.ts'

/** Fast, and small enough: higher levels cost more time than the rest of the pipe together. */
const ZSTD_LEVEL = 1

export interface Source {
  header: Header
  /** The rows of a table in COPY's text format, cut anywhere. */
  rows(table: string): AsyncIterable<Uint8Array>
}

/** Yields the bytes of the file. @param onPart told of each part with the rows in it */
export function writeBackup(
  source: Source,
  keeper: Keeper,
  onPart: (rows: number) => void,
): AsyncGenerator<Buffer> {
  const tar = archive(filesOf(source, keeper, onPart), new Date(source.header.created_at))
  const level = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL }
  return encrypt(through(tar, createZstdCompress({ params: level })), keeper.recipients)
}

async function* filesOf(
  { header, rows }: Source,
  keeper: Keeper,
  onPart: (rows: number) => void,
): AsyncGenerator<TarFile> {
  const headerText = toJson(header)
  yield { name: README, body: Buffer.from(readme(header)) }
  yield { name: HEADER, body: headerText }
  const tables: Record<string, Manifest['tables'][string]> = {}
  for (const { name } of header.tables) {
    const total = { rows: 0, bytes: 0, hash: createHash('sha256') }
    let part = 0
    for await (const body of inParts(rows(name))) {
      const count = add(total, body)
      part += 1
      yield { name: partName(name, part), body }
      onPart(count)
    }
    tables[name] = { rows: total.rows, bytes: total.bytes, sha256: total.hash.digest('hex') }
  }
  const manifest: Manifest = {
    backup_id: header.backup_id,
    header: createHash('sha256').update(headerText).digest('hex'),
    tables,
  }
  const text = toJson(manifest)
  yield { name: MANIFEST, body: text }
  yield { name: MANIFEST_MAC, body: Buffer.from(`${keeper.sign(text)}\n`) }
}

const toJson = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, null, 2)}\n`)

/** Adds a part to what its table comes to. Returns its rows. */
export function add(total: { rows: number; bytes: number; hash: Hash }, part: Buffer): number {
  let rows = 0
  for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) rows += 1
  total.rows += rows
  total.bytes += part.length
  total.hash.update(part)
  return rows
}

/** The rows in parts that end where a row does: a line break within a value is written as \n. */
export async function* inParts(rows: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of rows) {
    waiting.push(chunk)
    bytes += chunk.length
    const end = bytes < PART_BYTES ? -1 : chunk.lastIndexOf(10)
    if (end < 0) continue
    const rest = chunk.subarray(end + 1)
    yield Buffer.concat(waiting, bytes - rest.length)
    waiting = rest.length > 0 ? [rest] : []
    bytes = rest.length
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes)
}
