/** Tests that tar can read the archives, and that they can be read back. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { UnreadableFile } from './age.ts'
import { archive, readToEnd, type TarFile, unarchive } from './tar.ts'

const FILES = {
  'README.txt': [Buffer.from('Read me.\n')],
  'data/users/000001.copy': [randomBytes(512), randomBytes(512)],
  'data/users/000002.copy': [randomBytes(700), Buffer.alloc(0), randomBytes(1)],
  'manifest.json': [],
}
const MTIME = new Date('2026-11-21T12:00:00Z')
const NAMES = Object.keys(FILES)

async function* files(): AsyncGenerator<TarFile> {
  for (const [name, body] of Object.entries(FILES)) yield { name, body }
}

const written = async () => Buffer.concat(await Array.fromAsync(archive(files(), MTIME)))

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(bytes: Buffer, size: number, maxBytes = 10_000) {
  const found: Record<string, Buffer> = {}
  for await (const file of unarchive(pieces(bytes, size), maxBytes))
    found[file.name] = await readToEnd(file, 1024 * 1024)
  return found
}

const WHOLE = Object.fromEntries(
  Object.entries(FILES).map(([name, body]) => [name, Buffer.concat(body)]),
)

test('the tar module writes archives that the tar program can read', async () => {
  const input = await written()
  expect(execFileSync('tar', ['-t'], { input }).toString().trim().split('\n')).toEqual(NAMES)
  for (const name of NAMES)
    expect(execFileSync('tar', ['-xO', name], { input }).equals(WHOLE[name] as Buffer)).toBe(true)
  const [first] = execFileSync('tar', ['-tv', '--utc'], { input }).toString().split('\n')
  expect(first).toMatch(/^-rw------- .* 9 2026-11-21 12:00/)
})

test.each([1, 511, 512, 513, 100_000])(
  'the tar module reads an archive that arrives in pieces of %d bytes',
  async (size) => {
    expect(await read(await written(), size)).toEqual(WHOLE)
  },
)

test('the tar module rejects truncated archives, unrelated bytes and oversized files', async () => {
  const bytes = await written()
  await expect(read(bytes.subarray(0, 1_500), 400)).rejects.toThrow(UnreadableFile)
  await expect(read(bytes.subarray(0, 300), 400)).rejects.toThrow(UnreadableFile)
  await expect(read(randomBytes(4_000), 400)).rejects.toThrow(UnreadableFile)
  await expect(read(bytes, 400, 1_000)).rejects.toThrow('too large for a file')
})
