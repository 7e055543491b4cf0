/** Writes a backup as a stream through tar, zstd and age. Backpressure makes each step wait for the next one. */
import { createHash, type Hash } from 'node:crypto'
import type { TransformOptions } from 'node:stream'
import { constants, createZstdCompress, type ZstdOptions } from 'node:zlib'
import { releaseChunk } from '../../../lib/free-memory.ts'
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
  ZSTD_CHUNK_BYTES,
} from './format.ts'
import type { BackupKeys } from './identity.ts'
import { type Rest, resting } from './paced.ts'
import { ahead, asBuffer, inParts } from './rows.ts'
import { archive, type TarFile } from './tar.ts'
import { through } from './transform.ts'

/** The fastest level, which compresses well enough. Higher levels would be the slowest step of the pipeline. */
const ZSTD_LEVEL = 1

export interface Source {
  header: Header
  /** Streams the rows of a table in COPY's text format, in pieces of any size. */
  rows(table: string): AsyncIterable<Uint8Array>
  /** Pauses while requests use the database. One part is read while the previous one is written. */
  rest?: Rest | undefined
}

/** Yields the bytes of a backup file. @param onPart called after each part with its number of rows */
export function writeBackup(
  source: Source,
  backupKeys: BackupKeys,
  onPart: (rows: number) => void,
): AsyncGenerator<Buffer> {
  const tar = archive(filesOf(source, backupKeys, onPart), new Date(source.header.created_at))
  const options: ZstdOptions & TransformOptions = {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
    chunkSize: ZSTD_CHUNK_BYTES,
    // Accepts a piece only after the previous one is compressed, because the source may then reuse its memory.
    writableHighWaterMark: 1,
  }
  const zstd = createZstdCompress(options)
  return encrypt(through(resting(tar, source.rest), zstd, releaseChunk), backupKeys.recipients)
}

async function* filesOf(
  { header, rows, rest }: Source,
  backupKeys: BackupKeys,
  onPart: (rows: number) => void,
): AsyncGenerator<TarFile> {
  const headerText = toJson(header)
  yield { name: README, body: [Buffer.from(readme(header))] }
  yield { name: HEADER, body: [headerText] }
  const tables: Record<string, Manifest['tables'][string]> = {}
  for (const { name } of header.tables) {
    const total = newTotal()
    let part = 0
    let reported = 0
    for await (const body of ahead(
      inParts(counted(resting(rows(name), rest), total), PART_BYTES),
    )) {
      part += 1
      yield { name: partName(name, part), body }
      onPart(total.rows - reported)
      reported = total.rows
    }
    tables[name] = { rows: total.rows, bytes: total.bytes, sha256: total.hash.digest('hex') }
  }
  const manifest: Manifest = {
    backup_id: header.backup_id,
    header: createHash('sha256').update(headerText).digest('hex'),
    tables,
  }
  const text = toJson(manifest)
  yield { name: MANIFEST, body: [text] }
  yield { name: MANIFEST_MAC, body: [Buffer.from(`${backupKeys.sign(text)}\n`)] }
}

const toJson = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, null, 2)}\n`)

export interface Total {
  rows: number
  bytes: number
  hash: Hash
}

export const newTotal = (): Total => ({ rows: 0, bytes: 0, hash: createHash('sha256') })

/** Passes bytes through and adds them to the total. Hashing a whole part in one step would block the event loop. */
async function* counted(rows: AsyncIterable<Uint8Array>, total: Total): AsyncGenerator<Uint8Array> {
  for await (const bytes of rows) {
    add(total, asBuffer(bytes))
    yield bytes
  }
}

/** Adds bytes to the total of a table. The bytes may end in the middle of a row. */
export function add(total: Total, bytes: Buffer): void {
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) total.rows += 1
  total.bytes += bytes.length
  total.hash.update(bytes)
}
