/** Writes a backup: header, rows, manifest; tar, zstd, age; each step as fast as the next one takes it. */
import { createHash, type Hash } from 'node:crypto'
import type { TransformOptions } from 'node:stream'
import { constants, createZstdCompress, type ZstdOptions } from 'node:zlib'
import { letGo } from '../../../lib/let-go.ts'
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
import type { Keeper } from './identity.ts'
import { type Rest, resting } from './resting.ts'
import { ahead, asBuffer, inParts } from './rows.ts'
import { archive, type TarFile } from './tar.ts'
import { through } from './through.ts'

/** Fast, and small enough: higher levels cost more time than the rest of the pipe together. */
const ZSTD_LEVEL = 1

export interface Source {
  header: Header
  /** The rows of a table in COPY's text format, cut anywhere. */
  rows(table: string): AsyncIterable<Uint8Array>
  /** Asked between two steps, of reading as of writing: a part is read while the one before it is written. */
  rest?: Rest | undefined
}

/** Yields the bytes of the file. @param onPart told of each part with the rows in it */
export function writeBackup(
  source: Source,
  keeper: Keeper,
  onPart: (rows: number) => void,
): AsyncGenerator<Buffer> {
  const tar = archive(filesOf(source, keeper, onPart), new Date(source.header.created_at))
  const options: ZstdOptions & TransformOptions = {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
    chunkSize: ZSTD_CHUNK_BYTES,
    // It takes the next once it has done with the last, whose memory may then be used again.
    writableHighWaterMark: 1,
  }
  const zstd = createZstdCompress(options)
  return encrypt(through(resting(tar, source.rest), zstd, letGo), keeper.recipients)
}

async function* filesOf(
  { header, rows, rest }: Source,
  keeper: Keeper,
  onPart: (rows: number) => void,
): AsyncGenerator<TarFile> {
  const headerText = toJson(header)
  yield { name: README, body: [Buffer.from(readme(header))] }
  yield { name: HEADER, body: [headerText] }
  const tables: Record<string, Manifest['tables'][string]> = {}
  for (const { name } of header.tables) {
    const total = newTotal()
    let part = 0
    let told = 0
    for await (const body of ahead(
      inParts(counted(resting(rows(name), rest), total), PART_BYTES),
    )) {
      part += 1
      yield { name: partName(name, part), body }
      onPart(total.rows - told)
      told = total.rows
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
  yield { name: MANIFEST_MAC, body: [Buffer.from(`${keeper.sign(text)}\n`)] }
}

const toJson = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, null, 2)}\n`)

/** What the rows of a table come to. */
export interface Total {
  rows: number
  bytes: number
  hash: Hash
}

export const newTotal = (): Total => ({ rows: 0, bytes: 0, hash: createHash('sha256') })

/** The same bytes, added as they pass: a whole part at once would hold up everybody else. */
async function* counted(rows: AsyncIterable<Uint8Array>, total: Total): AsyncGenerator<Uint8Array> {
  for await (const bytes of rows) {
    add(total, asBuffer(bytes))
    yield bytes
  }
}

/** Adds some of its bytes, cut anywhere. */
export function add(total: Total, bytes: Buffer): void {
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) total.rows += 1
  total.bytes += bytes.length
  total.hash.update(bytes)
}
