/** Tests that each forged file is rejected early, with a readable error and without using much memory. */
import { randomBytes } from 'node:crypto'
import { gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { beforeAll, expect, it, test } from 'vitest'
import { keysFrom } from '../../../platform/crypto/index.ts'
import { decrypt, encrypt, UnreadableFile } from './age.ts'
import { FORMAT, HEADER, type Header, README } from './format.ts'
import { type BackupKeys, openBackupKeys } from './identity.ts'
import { readBackup } from './read.ts'
import { archive } from './tar.ts'
import { writeBackup } from './write.ts'

const MIB = 1024 * 1024
const END = Buffer.alloc(1024)

let backupKeys: BackupKeys
/** The uncompressed archive of a valid backup. */
let right: Buffer

async function* pieces(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const joined = async (parts: AsyncIterable<Uint8Array>) =>
  Buffer.concat(await Array.fromAsync(parts))

const HEADER_VALUE: Header = {
  format: FORMAT,
  backup_id: 'b1',
  installation: 'i1',
  type: 'full',
  tenant_id: null,
  created_at: '2026-11-21T12:00:00.000Z',
  schema_version: 12,
  migrations: [],
  keys: { key_encryption_keys: [], data_keys: [] },
  tables: [{ name: 'tenants', columns: ['id'] }],
}

beforeAll(async () => {
  backupKeys = await openBackupKeys([keysFrom(randomBytes(32))], [])
  const rows = () => pieces(Buffer.from('1\n2\n'))
  const file = await joined(
    writeBackup({ header: HEADER_VALUE, rows }, backupKeys, () => undefined),
  )
  right = zstdDecompressSync(await joined(decrypt(pieces(file), backupKeys.opener)))
})

const read = async (payload: Uint8Array) => {
  const file = await joined(encrypt(pieces(payload), backupKeys.recipients))
  return readBackup(pieces(file), backupKeys, {})
}

/** Builds an archive from the given files. */
const archiveOf = (files: Record<string, Uint8Array>) =>
  joined(
    archive(
      (async function* () {
        for (const [name, body] of Object.entries(files)) yield { name, body: [body] }
      })(),
      new Date(),
    ),
  )
const withHeader = async (text: string) =>
  zstdCompressSync(await archiveOf({ [README]: Buffer.from('x'), [HEADER]: Buffer.from(text) }))

test('the backup reader reads a valid backup', async () => {
  expect((await read(zstdCompressSync(right))).manifest.tables.tenants?.rows).toBe(2)
})

it.each([
  ['gzip in place of zstd', async () => gzipSync(right), 'not compressed with zstd'],
  ['no compression', async () => right, 'not compressed with zstd'],
  ['empty content', async () => Buffer.alloc(0), 'not compressed with zstd'],
  [
    'bytes after the frame',
    async () => Buffer.concat([zstdCompressSync(right), Buffer.from('more')]),
    'followed by extra data|zstd frame',
  ],
  [
    'bytes after the frame, in another piece',
    async () => Buffer.concat([zstdCompressSync(right), randomBytes(200_000)]),
    'followed by extra data|zstd frame',
  ],
  [
    'a second frame',
    async () => Buffer.concat([zstdCompressSync(right), zstdCompressSync(Buffer.from('more'))]),
    'followed by extra data|data after its end',
  ],
  [
    'an empty second frame',
    async () => Buffer.concat([zstdCompressSync(right), zstdCompressSync(Buffer.alloc(0))]),
    'followed by extra data',
  ],
  ['a damaged frame', async () => zstdCompressSync(right).fill(7, 60, 90), ''],
  ['a frame that is cut', async () => zstdCompressSync(right).subarray(0, -5), 'zstd frame'],
  [
    'a file after the end',
    async () => zstdCompressSync(Buffer.concat([right, await archiveOf({ other: END })])),
    'has data after its end',
  ],
  ['a header that is not JSON', async () => withHeader('not json'), 'header.json is not JSON'],
  ['a header that is null', async () => withHeader('null'), 'is not a backup file'],
  ['a header without tables', async () => withHeader('{"format":1}'), 'is not a backup file'],
  [
    'a header of another format',
    async () => withHeader(JSON.stringify({ ...HEADER_VALUE, format: 2 })),
    'has format 2',
  ],
])('the backup reader rejects a backup file with %s', async (_what, payload, sentence) => {
  const reading = read(await payload())
  await expect(reading).rejects.toThrow(UnreadableFile)
  await expect(reading).rejects.toThrow(new RegExp(sentence))
})

it.each([
  ['README', { [README]: Buffer.alloc(600 * MIB) }],
  ['header', { [README]: Buffer.from('x'), [HEADER]: Buffer.alloc(300 * MIB) }],
])('the backup reader rejects an oversized %s before reading it', async (_what, files) => {
  const payload = zstdCompressSync(await archiveOf(files))
  const before = process.memoryUsage().rss
  await expect(read(payload)).rejects.toThrow('is too large')
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB)
})

it('the backup reader rejects endless data after the archive without reading all of it', async () => {
  const zeros = Buffer.alloc(256 * MIB)
  const payload = zstdCompressSync(Buffer.concat([right, zeros]))
  let handedOut = 0
  const file = await joined(encrypt(pieces(payload), backupKeys.recipients))
  async function* counted() {
    for await (const piece of pieces(file, 1024)) {
      handedOut += piece.length
      yield piece
    }
  }
  await expect(readBackup(counted(), backupKeys, {})).rejects.toThrow('has data after its end')
  expect(handedOut).toBeLessThanOrEqual(file.length)
})
